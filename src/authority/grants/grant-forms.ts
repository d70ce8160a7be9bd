import { SIGNATURE_KINDS } from '../../contract/decision';
import { LIMITS } from '../../contract/limits';
import type { JsonSchema } from '../../contract/tool';
import type { ConfirmAsked } from './confirmations';
import {
  DIGEST,
  DIGEST_OR_NONE,
  form,
  ID,
  MOMENT,
  NAME,
  reader,
  signatureBy,
  TEXT,
} from '../../contract/schema/exact-form';
import type { GrantAsked, GrantShown, GrantTerms, RevokeAsked } from './grant';
import type { Narrowing } from './narrowing';
import { AUTHORITY } from '../../contract/authority';
import type { UseAsked, UseTaken } from './claim-use';

const CONDITION: JsonSchema = {
  anyOf: [
    form({ is: { const: 'equal' }, value: {} }),
    form({ is: { const: 'equal' }, digest: DIGEST }),
    form({ is: { const: 'prefix' }, prefix: TEXT }),
    form({ is: { const: 'range' } }, { min: { type: 'number' }, max: { type: 'number' } }),
    form({ is: { const: 'glob' }, glob: TEXT }),
  ],
};
const NARROWING: JsonSchema = { type: 'object', additionalProperties: CONDITION };
const TERMS: Record<string, JsonSchema> = {
  id: ID,
  agent: NAME,
  tool: NAME,
  toolDigest: DIGEST,
  ruleDigest: DIGEST_OR_NONE,
  policyDigest: DIGEST_OR_NONE,
  narrowing: NARROWING,
  times: { type: 'integer', minimum: 1, maximum: LIMITS.grantTimes },
  until: MOMENT,
  at: MOMENT,
  by: NAME,
};
const SIGNATURE = signatureBy(...SIGNATURE_KINDS);
const TRUE: JsonSchema = { const: true };
const VOTE = { voter: NAME, at: MOMENT, seenDigest: DIGEST };
const GIVEN = { reason: TEXT, signature: SIGNATURE, authority: AUTHORITY };
const CONFIRMED: JsonSchema = {
  type: 'array',
  items: form(VOTE, { signature: SIGNATURE }),
  maxItems: LIMITS.grantVotes,
};
const ASKED = form(TERMS, GIVEN);
const CONFIRM = form({ id: ID, ...VOTE }, { signature: SIGNATURE });
const SHOWN = form(
  { ...TERMS, takenAt: MOMENT },
  { reason: TEXT, signature: SIGNATURE, confirmed: CONFIRMED, needsOthers: TRUE, revoked: TRUE },
);
const USE = form({
  agent: NAME,
  tool: NAME,
  toolDigest: DIGEST,
  ruleDigest: DIGEST_OR_NONE,
  policyDigest: DIGEST_OR_NONE,
});
const REVOKE = form({ by: NAME }, { reason: TEXT });
const USED: JsonSchema = { type: 'integer', minimum: 0, maximum: LIMITS.grantTimes };
const TAKEN = form({ use: { ...USED, minimum: 1 } });

/** The names of the fields that a client or a worker sends. */
export const GRANT_FIELDS = {
  confirm: Object.keys(CONFIRM.properties),
  revoke: Object.keys(REVOKE.properties),
  use: Object.keys(USE.properties),
};

export const isNarrowing = /* @__PURE__ */ reader<Narrowing>(NARROWING);
export const isGrantTerms = /* @__PURE__ */ reader<GrantTerms>(form(TERMS));
export const isGrantAsked = /* @__PURE__ */ reader<GrantAsked>(ASKED);
export const isConfirmAsked = /* @__PURE__ */ reader<ConfirmAsked>(CONFIRM);
export const isUseAsked = /* @__PURE__ */ reader<UseAsked>(USE);
export const isRevokeAsked = /* @__PURE__ */ reader<Omit<RevokeAsked, 'id'>>(REVOKE);
export const isUseTaken = /* @__PURE__ */ reader<UseTaken>(TAKEN);
export const isGrantShown = /* @__PURE__ */ reader<GrantShown>(SHOWN);
export const isUsed = /* @__PURE__ */ reader<number>(USED);
