import { DAY } from './limits';
import type { JsonSchema } from './tool';
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

/** The policy rule that fitted a call, as it is recorded with the call. */
export interface CallRuling {
  rule: string;
  /** SHA-256 (hex) of the rule. */
  digest: string;
  /** The action of the rule. Safety, the function policy and the approvers file may be stricter. */
  then: PolicyAction;
  /** The last day on which the rule lets a dangerous call run. */
  until?: string;
}

/** The most days that the `until` of a rule may be ahead. */
export const MOST_RULE_DAYS = 31;

/** When a day such as `2026-12-24` ends in UTC, in milliseconds. NaN if the text is not a day. */
export function endOfDay(day: string): number {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : NaN;
  // JavaScript reads the 30th of February as a day in March.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(day) ? at + DAY : NaN;
}

const ACTION: JsonSchema = { enum: [...POLICY_ACTIONS] };
const TEXT: JsonSchema = { type: 'string' };

/** The schema of a call's ruling as an activity returns it. */
export const RULING: JsonSchema = {
  type: 'object',
  properties: { rule: TEXT, digest: TEXT, then: ACTION, until: TEXT },
  required: ['rule', 'digest', 'then'],
};

const COUNT: JsonSchema = { type: 'integer', minimum: 1 };
const MARK = { id: TEXT, by: TEXT, until: TEXT, times: COUNT } as const;
const WITH = { confirmedBy: { type: 'array', items: TEXT } } as const;

/** The schemas of the grant of a call, and of a claimed use of a grant, as an activity returns them. */
export const GRANT_MARK: JsonSchema = {
  type: 'object',
  properties: { ...MARK, ...WITH },
  required: Object.keys(MARK),
};
export const GRANT_USE: JsonSchema = {
  type: 'object',
  properties: { ...MARK, ...WITH, use: COUNT, assurance: { enum: [...ASSURANCES] } },
  required: [...Object.keys(MARK), 'use', 'assurance'],
};
