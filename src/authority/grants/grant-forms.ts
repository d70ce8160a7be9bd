import {
  type Shape,
  either,
  oneOf,
  json,
  number,
  record,
  integer,
  list,
  only,
} from '../../contract/schema/shape';
import type { Condition, Narrowing } from './narrowing';
import {
  form,
  DIGEST,
  TEXT,
  ID,
  NAME,
  DIGEST_OR_NONE,
  MOMENT,
  signatureBy,
  reader,
} from '../../contract/schema/exact-form';
import { LIMITS } from '../../contract/limits';
import { SIGNATURE_KINDS } from '../../contract/decision';
import type { GrantAsked, GrantShown, RevokeAsked, GrantTerms } from './grant';
import { AUTHORITY } from '../../contract/authority';
import type { ConfirmAsked } from './confirmations';
import type { UseTaken, UseAsked } from './claim-use';

const CONDITION: Shape<Condition> = either(
  form({ is: oneOf(['equal']), value: json() }),
  form({ is: oneOf(['equal']), digest: DIGEST }),
  form({ is: oneOf(['prefix']), prefix: TEXT }),
  form({ is: oneOf(['range']) }, { min: number(), max: number() }),
  form({ is: oneOf(['glob']), glob: TEXT }),
);
const NARROWING: Shape<Narrowing> = record(CONDITION);
const TERMS = {
  id: ID,
  agent: NAME,
  tool: NAME,
  toolDigest: DIGEST,
  ruleDigest: DIGEST_OR_NONE,
  policyDigest: DIGEST_OR_NONE,
  narrowing: NARROWING,
  times: integer({ minimum: 1, maximum: LIMITS.grantTimes }),
  until: MOMENT,
  at: MOMENT,
  by: NAME,
};
const SIGNATURE = signatureBy(...SIGNATURE_KINDS);
const VOTE = { voter: NAME, at: MOMENT, seenDigest: DIGEST };
const SIGNED = { signature: SIGNATURE };
const CONFIRMED = list(form(VOTE, SIGNED), { maxItems: LIMITS.grantVotes });
const ASKED: Shape<GrantAsked> = form(TERMS, { ...SIGNED, reason: TEXT, authority: AUTHORITY });
const CONFIRMATION = { id: ID, ...VOTE };
const CONFIRM: Shape<ConfirmAsked> = form(CONFIRMATION, SIGNED);
const SHOWN: Shape<GrantShown> = form(
  { ...TERMS, takenAt: MOMENT },
  { ...SIGNED, reason: TEXT, confirmed: CONFIRMED, needsOthers: only(true), revoked: only(true) },
);
const USE = {
  agent: NAME,
  tool: NAME,
  toolDigest: DIGEST,
  ruleDigest: DIGEST_OR_NONE,
  policyDigest: DIGEST_OR_NONE,
};
const REVOCATION = { reason: TEXT };
const REVOKE: Shape<Omit<RevokeAsked, 'id'>> = form({ by: NAME }, REVOCATION);
const USED = { minimum: 0, maximum: LIMITS.grantTimes };
const TAKEN: Shape<UseTaken> = form({ use: integer({ ...USED, minimum: 1 }) });

/** The names of the fields that a client or a worker sends. */
export const GRANT_FIELDS = {
  confirm: Object.keys({ ...CONFIRMATION, ...SIGNED }),
  revoke: ['by', ...Object.keys(REVOCATION)],
  use: Object.keys(USE),
};

export const isNarrowing = /* @__PURE__ */ reader(NARROWING);
export const isGrantTerms = /* @__PURE__ */ reader<GrantTerms>(form(TERMS));
export const isGrantAsked = /* @__PURE__ */ reader(ASKED);
export const isConfirmAsked = /* @__PURE__ */ reader(CONFIRM);
export const isUseAsked = /* @__PURE__ */ reader<UseAsked>(form(USE));
export const isRevokeAsked = /* @__PURE__ */ reader(REVOKE);
export const isUseTaken = /* @__PURE__ */ reader(TAKEN);
export const isGrantShown = /* @__PURE__ */ reader(SHOWN);
export const isUsed = /* @__PURE__ */ reader(integer(USED));
