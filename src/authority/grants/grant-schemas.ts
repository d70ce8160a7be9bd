import { AUTHORITY } from '../../contract/authority';
import { VOTE_SIGNATURE } from '../../contract/decision';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { guard } from '../../contract/schema/message';
import {
  either,
  exact,
  integer,
  json,
  list,
  number,
  oneOf,
  only,
  record,
  refined,
  type Shape,
  text,
} from '../../contract/schema/shape';
import { isMoment } from '../../contract/text/times';

const TEXT = text({ maxLength: 1000 });
const NAME = text({ minLength: 1, maxLength: 200 });
const ID = text({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
const DIGEST = text({ pattern: '^[0-9a-f]{64}$' });
const DIGEST_OR_NONE = text({ pattern: '^([0-9a-f]{64})?$' });
/** The one form of a moment. A signature covers the text, so each moment may have only one text. */
const MOMENT = text({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' });

export const GRANT_CONDITION = either(
  exact({ is: oneOf(['equal']), value: json() }),
  exact({ is: oneOf(['equal']), digest: DIGEST }),
  exact({ is: oneOf(['prefix']), prefix: TEXT }),
  exact({ is: oneOf(['range']) }, { min: number(), max: number() }),
  exact({ is: oneOf(['glob']), glob: TEXT }),
);
const NARROWING = record(GRANT_CONDITION);

/** What a grant is for. Each field describes the call, too. */
const FOR = {
  agent: NAME,
  tool: NAME,
  toolDigest: DIGEST,
  /** The digest of the rule of the approvers file under which the grant was given. Empty: there was no file. */
  ruleDigest: DIGEST_OR_NONE,
  /** The digest of the policy rule that fitted. Empty: no rule fitted. */
  policyDigest: DIGEST_OR_NONE,
};
const FIELDS = {
  /** Drawn by the person who gives the grant. It names the workflow of the grant. */
  id: ID,
  ...FOR,
  narrowing: NARROWING,
  /** The most calls that the grant allows. */
  times: integer({ minimum: 1, maximum: LIMITS.grantTimes }),
  /** ISO 8601. From this moment on, the grant allows nothing. */
  until: MOMENT,
  /** The time at which the grant was given, by the giver's clock. ISO 8601. */
  at: MOMENT,
  /** The person who gives the grant, by their name in the approvers file if there is a file. */
  by: NAME,
};
const SIGNED = {
  /** Only the worker can say whether it counts. */
  signature: refined(VOTE_SIGNATURE, {
    properties: { ...VOTE_SIGNATURE.properties, at: MOMENT, notAfter: MOMENT },
  }),
};
const VOTE = {
  /** The voter's name in the approvers file. */
  voter: NAME,
  /** The time of the vote, by the voter's clock. ISO 8601. */
  at: MOMENT,
  /** The digest of the terms that they were shown. */
  seenDigest: DIGEST,
};
export const GRANT_TERMS = exact(FIELDS);
export const GRANT_ASKED = exact(FIELDS, {
  ...SIGNED,
  reason: TEXT,
  /**
   * The people who decide the calls that the grant allows, as the request said, if one person is not enough. The
   * grant allows nothing until they have confirmed it. The worker decides by its own file.
   */
  authority: AUTHORITY,
});
export const GRANT_CONFIRMATION = exact(VOTE, SIGNED);
export const CONFIRM_ASKED = exact({ id: ID, ...VOTE }, SIGNED);
export const GRANT_SHOWN = exact(
  {
    ...FIELDS,
    /** When its workflow took it, in workflow time. ISO 8601. */
    takenAt: MOMENT,
  },
  {
    ...SIGNED,
    reason: TEXT,
    /** The votes of the people who confirmed it. */
    confirmed: list(GRANT_CONFIRMATION, { maxItems: LIMITS.grantVotes }),
    /** Others have to confirm it, by the request on which it was given. The input of its workflow names them. */
    needsOthers: only(true),
    /** Somebody took it back. Its workflow stays open until the grant would have ended, so that its id stays taken. */
    revoked: only(true),
  },
);
export const USE_ASKED = exact(FOR);
export const REVOKE_ASKED = exact({ by: NAME }, { reason: TEXT });
const USED = { minimum: 0, maximum: LIMITS.grantTimes };
export const USE_TAKEN = exact({
  /** The number of the use. The first use is 1. */
  use: integer({ ...USED, minimum: 1 }),
});

export const isNarrowing = /* @__PURE__ */ reader(NARROWING);
export const isGrantTerms = /* @__PURE__ */ reader(GRANT_TERMS);
export const isGrantAsked = /* @__PURE__ */ reader(GRANT_ASKED);
export const isConfirmAsked = /* @__PURE__ */ reader(CONFIRM_ASKED);
export const isUseAsked = /* @__PURE__ */ reader(USE_ASKED);
export const isRevokeAsked = /* @__PURE__ */ reader(REVOKE_ASKED);
export const isUseTaken = /* @__PURE__ */ reader(USE_TAKEN);
export const isGrantShown = /* @__PURE__ */ reader(GRANT_SHOWN);
export const isUsed = /* @__PURE__ */ reader(integer(USED));

/** Makes a guard for values that anybody may have sent: it checks them against a shape. */
function reader<T>(shape: Shape<T>): (value: unknown) => value is T {
  const fits = guard(shape);
  return (value): value is T => fits(value) && areMoments(shape, value);
}

/** Whether all moments in a value that fits a schema exist. The pattern alone also fits a 31st of February. */
function areMoments(schema: unknown, value: unknown): boolean {
  if (!isObject(schema) || value === undefined) return true;
  const { items, properties } = schema;
  if (schema === MOMENT) return typeof value === 'string' && isMoment(value);
  if (Array.isArray(value)) return value.every((one) => areMoments(items, one));
  if (!isObject(value) || !isObject(properties)) return true;
  return Object.entries(properties).every(([name, field]) => areMoments(field, value[name]));
}
