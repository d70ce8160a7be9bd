import { object, text, oneOf, type Of, type Shape, list, integer, both } from './schema/shape';
import { DAY } from './limits';
import { ASSURANCES } from './authority';

/** The action of a policy rule for a call that it fits. */
export const POLICY_ACTIONS = ['run', 'ask', 'refuse'] as const;
export type PolicyAction = (typeof POLICY_ACTIONS)[number];

/** A rule of the policy as it is written. See docs/policy.md. */
export interface PolicyRule {
  name: string;
  /** Names of tools. @default all */
  tools?: readonly string[];
  /** Names of agents. @default all */
  agents?: readonly string[];
  /** A condition in CEL over `args`, `tool`, `agent`, `safety` and `effect`. @default it always holds */
  when?: string;
  then: PolicyAction;
  /** The reason for the verdict, which the model and the approver read. */
  reason?: string;
  /**
   * The last day (`2026-12-24`, UTC) on which the rule counts. At most `MOST_RULE_DAYS` ahead. Only with `run`: the rule
   * then lets the dangerous tools that it names run without a decision.
   */
  until?: string;
}

/** The schema of a call's ruling as an activity returns it. */
export const RULING = object(
  {
    rule: text(),
    /** SHA-256 (hex) of the rule. */
    digest: text(),
    /** The action of the rule. Safety, the function policy and the approvers file may be stricter. */
    then: oneOf(POLICY_ACTIONS),
  },
  {
    /** The last day on which the rule lets a dangerous call run. */
    until: text(),
  },
);

/** The policy rule that fitted a call, as it is recorded with the call. */
export interface CallRuling extends Of<typeof RULING> {}

/** When a day such as `2026-12-24` ends in UTC, in milliseconds. NaN if the text is not a day. */
export function endOfDay(day: string): number {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : NaN;
  // JavaScript reads the 30th of February as a day in March.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(day) ? at + DAY : NaN;
}

const NAMES: Shape<readonly string[]> = list(text());
const MARK = {
  id: text(),
  /** The person who gave the grant. */
  by: text(),
  /** ISO 8601. */
  until: text(),
  /** The number of calls that the grant allows. */
  times: integer({ minimum: 1 }),
};
/** The people who confirmed it, if one person was not enough. */
const WITH = { confirmedBy: NAMES };

/** The schema of the grant of a call. */
export const GRANT_MARK = object(MARK, WITH);

/**
 * A grant that lets a call start without a decision. Before the start, its worker claims a use and checks the whole
 * grant.
 */
export interface GrantMark extends Of<typeof GRANT_MARK> {}

/** The schema of a claimed use of a grant, as an activity returns it. */
export const GRANT_USE = object(
  both(MARK, {
    /** The number of the use. The first use is 1. */
    use: integer({ minimum: 1 }),
    /** How sure it is that the named person gave the grant. */
    assurance: oneOf(ASSURANCES),
  }),
  WITH,
);

/** The use of a grant by which a call started, as its worker checked it. */
export interface GrantUse extends Of<typeof GRANT_USE> {}
