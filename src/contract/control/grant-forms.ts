import { AUTHORITY } from '../authority/authority';
import { SIGNATURE_KINDS } from '../decision';
import { LIMITS } from '../limits';
import type { JsonSchema } from '../tool';
import type { ConfirmAsked } from './confirmations';
import { DIGEST, DIGEST_OR_NONE, form, ID, MOMENT, NAME, reader, signatureBy, TEXT } from './forms';
import {
  type Grant,
  type GrantAsked,
  type GrantSeen,
  type GrantsMemo,
  type GrantsSeen,
  type GrantsState,
  type GrantTerms,
  noGrants,
  type RevokeAsked,
  type UseAsked,
  type UseTaken,
} from './grants';
import type { Narrowing } from './narrowing';

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
  ...{ id: ID, agent: NAME, tool: NAME, toolDigest: DIGEST },
  ...{ ruleDigest: DIGEST_OR_NONE, policyDigest: DIGEST_OR_NONE },
  narrowing: NARROWING,
  times: { type: 'integer', minimum: 1, maximum: LIMITS.grantTimes },
  ...{ until: MOMENT, at: MOMENT, by: NAME },
};
const SIGNATURE = signatureBy(...SIGNATURE_KINDS);
const KEY: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{32}$' };
const VOTE = { voter: NAME, at: MOMENT, seenDigest: DIGEST };
const GIVEN = { reason: TEXT, signature: SIGNATURE, authority: AUTHORITY };
const CONFIRMED: JsonSchema = {
  type: 'array',
  items: form(VOTE, { signature: SIGNATURE }),
  maxItems: LIMITS.grantVotes,
};
const ASKED = form(TERMS, GIVEN);
const CONFIRM = form({ id: ID, ...VOTE }, { signature: SIGNATURE });
const HELD = form(
  { ...TERMS, takenAt: MOMENT, uses: { type: 'array', items: KEY, maxItems: LIMITS.grantTimes } },
  { ...GIVEN, confirmed: CONFIRMED },
);
const LISTED = form(
  { ...TERMS, takenAt: MOMENT, used: { type: 'integer', minimum: 0, maximum: LIMITS.grantTimes } },
  { ...GIVEN, confirmed: CONFIRMED },
);
/**
 * The grants of a list are checked one by one: a check may do only so much, and all grants together may take more than
 * that.
 */
const GRANTS: JsonSchema = { type: 'array', items: { type: 'object' }, maxItems: LIMITS.grants };
const SEEN = form({ grants: GRANTS }, { floor: MOMENT });
const USE = form({
  ...{ id: ID, agent: NAME, tool: NAME, toolDigest: DIGEST, key: KEY },
  ...{ ruleDigest: DIGEST_OR_NONE, policyDigest: DIGEST_OR_NONE },
});
const REVOKE = form({ by: NAME }, { id: ID, reason: TEXT });
const STATE = form(
  {
    grants: GRANTS,
    revoked: { type: 'array', items: form({ id: ID, at: MOMENT, until: MOMENT }) },
  },
  { floor: MOMENT },
);
const MEMO = form(
  { revoked: { type: 'array', items: ID }, open: { type: 'integer', minimum: 0, maximum: LIMITS.grants } },
  { floor: MOMENT },
);
const TAKEN = form(
  {
    grant: form(TERMS, { signature: SIGNATURE, confirmed: CONFIRMED }),
    use: { type: 'integer', minimum: 1, maximum: LIMITS.grantTimes },
  },
  { again: { const: true } },
);

/** The names of the fields that a client or a worker sends. */
export const GRANT_FIELDS = {
  asked: Object.keys(ASKED.properties),
  confirm: Object.keys(CONFIRM.properties),
  revoke: Object.keys(REVOKE.properties),
  use: Object.keys(USE.properties),
};

export const isNarrowing = /* @__PURE__ */ reader<Narrowing>(NARROWING);
export const isGrantTerms = /* @__PURE__ */ reader<GrantTerms>(form(TERMS));
export const isGrantAsked = /* @__PURE__ */ reader<GrantAsked>(ASKED);
export const isConfirmAsked = /* @__PURE__ */ reader<ConfirmAsked>(CONFIRM);
export const isUseAsked = /* @__PURE__ */ reader<UseAsked>(USE);
export const isRevokeAsked = /* @__PURE__ */ reader<RevokeAsked>(REVOKE);
export const isUseTaken = /* @__PURE__ */ reader<UseTaken>(TAKEN);
const isState = /* @__PURE__ */ reader<GrantsState>(STATE);
const isList = /* @__PURE__ */ reader<GrantsSeen>(SEEN);
const isHeld = /* @__PURE__ */ reader<Grant>(HELD);
const isListed = /* @__PURE__ */ reader<GrantSeen>(LISTED);
const isMemo = /* @__PURE__ */ reader<GrantsMemo>(MEMO);

/** Whether all grants of a list have a form that can be read. */
export function isGrantsSeen(value: unknown): value is GrantsSeen {
  return isList(value) && value.grants.every((one) => isListed(one));
}

/** Reads the grants that a run takes along, or that a query returns. Undefined: the grants cannot be read. */
export function readGrants(value: unknown): GrantsState | undefined {
  if (value === undefined || value === null) return noGrants();
  return isState(value) && value.grants.every((one) => isHeld(one)) ? value : undefined;
}

/** The grants in a memo. Undefined: they cannot be read. */
export function readGrantsMemo(value: unknown): GrantsMemo | undefined {
  if (value === undefined || value === null) return { revoked: [], open: 0 };
  return isMemo(value) ? value : undefined;
}
