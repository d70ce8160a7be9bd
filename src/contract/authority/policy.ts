import { ASSURANCES } from './votes';
import type { JsonSchema } from '../tool';

/** What a rule of the policy does with a call that it fits. */
export const POLICY_ACTIONS = ['run', 'ask', 'refuse'] as const;
export type PolicyAction = (typeof POLICY_ACTIONS)[number];

/** A rule of the policy as it is written; see docs/policy.md. */
export interface PolicyRule {
  name: string;
  /** Names of tools. @default all */
  tools?: readonly string[];
  /** Names of agents. @default all */
  agents?: readonly string[];
  /** A condition in CEL over `args`, `tool`, `agent`, `safety` and `effect`. @default it always holds */
  when?: string;
  then: PolicyAction;
  /** For the model and the approver. */
  reason?: string;
  /**
   * The last day (`2026-12-24`, UTC) on which the rule counts; at most 31 days ahead. Only of `run`: it then lets the
   * dangerous tools that it names run without a decision.
   */
  until?: string;
  /** It is on record what it would say, and it decides nothing. @default false */
  shadow?: boolean;
}

/** What the rules of the policy said of one call, as it stands on record with it. */
export interface CallRuling {
  /** The rule that fitted. Absent where only shadow rules did. */
  rule?: string;
  /** SHA-256 (hex) of that rule. */
  digest?: string;
  /** What that rule says. Safety, the function policy and the approvers file may be stricter. */
  then?: PolicyAction;
  /** The last day on which it lets a dangerous call run. */
  until?: string;
  /** Shadow rules that fitted before it, and what would have been done with the call by each. */
  shadow?: { rule: string; would: PolicyAction }[];
}

/** A call has at most so many shadow rules on record. */
export const MOST_SHADOWS = 10;

const ACTION: JsonSchema = { enum: [...POLICY_ACTIONS] };
const TEXT: JsonSchema = { type: 'string' };

/** What an activity returns as the ruling of a call. */
export const RULING: JsonSchema = {
  type: 'object',
  properties: {
    rule: TEXT,
    digest: TEXT,
    then: ACTION,
    until: TEXT,
    shadow: {
      type: 'array',
      items: { type: 'object', properties: { rule: TEXT, would: ACTION }, required: ['rule', 'would'] },
    },
  },
};

const COUNT: JsonSchema = { type: 'integer', minimum: 1 };
const MARK = { id: TEXT, by: TEXT, until: TEXT, times: COUNT } as const;
const WITH = { confirmedBy: { type: 'array', items: TEXT } } as const;

/** What an activity returns as the grant of a call, and as the use of one that it claimed. */
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
