import { BUDGET, type Spent } from './budget';
import { isObject } from './json';
import type { JsonSchema } from './tool';
import {
  makeFailure,
  makeSuccess,
  type ResultFacts,
  type ResultHead,
  type ToolFailure,
  type ToolResult,
} from './result';
import { cutContent } from './transcript';
import type { TurnResult } from './turn';

const NAME = { type: 'string', minLength: 1, maxLength: 1000 };

const LINEAGE: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 100,
  items: {
    type: 'object',
    properties: { turn: NAME, callId: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' }, agent: NAME },
    required: ['turn', 'callId', 'agent'],
  },
};

/** What a turn may be started with beside its agent and prompt, as it comes from outside. */
export const CHILD_INPUT = { lineage: LINEAGE, budget: BUDGET, cap: BUDGET };

/**
 * The id of the child turn of a call. It comes from the reply that asked for the call and not from a run: after a reset
 * that keeps the reply it names the turn that was started before, so a call never starts two.
 */
export function childTurnId(turn: string, { callId, replyId }: { callId: string; replyId: string }): string {
  return `${turn}.${callId}.${replyId.replace(/[^A-Za-z0-9]/g, '').slice(0, KEY_CHARACTERS)}`;
}

const KEY_CHARACTERS = 12;

/** The call that a child turn belongs to, by its id; undefined: it is no child of this turn. */
export function callOfChild(turn: string, child: string): string | undefined {
  if (!child.startsWith(`${turn}.`)) return undefined;
  return /^(.+)\.[A-Za-z0-9]{1,12}$/.exec(child.slice(turn.length + 1))?.[1];
}

/** How a child turn ended. `result` may be anything that its workflow returned. */
export type ChildEnd =
  | { kind: 'completed'; result: unknown }
  | { kind: 'failed' | 'foreign'; message: string }
  | { kind: 'cancelled' | 'terminated' | 'timed_out' };

export const CHILD_ENDS = ['completed', 'failed', 'foreign', 'cancelled', 'terminated', 'timed_out'] as const;

/** Its id, and the facts of its call, as a result has them. */
export interface ChildOf {
  child: string;
  head: ResultHead;
  facts: ResultFacts;
  outputBytes: number;
}

/** The result of a call whose child turn has ended: its answer, or in words why there is none. */
export function childResult(end: ChildEnd, { child, head, facts, outputBytes }: ChildOf): ToolResult {
  const answer = answerOf(end);
  const result =
    typeof answer === 'string'
      ? makeSuccess(head, { content: cutContent(answer, outputBytes), contentType: 'text' }, facts)
      : makeFailure(head, { ...answer, message: cutContent(answer.message, outputBytes) }, facts);
  return { ...result, metadata: { ...result.metadata, child } };
}

const STAYS = 'What it had done until then stays done.';

function answerOf(end: ChildEnd): string | ToolFailure {
  switch (end.kind) {
    case 'completed':
      return isTurnResult(end.result) ? answerIn(end.result) : { code: 'unknown', message: UNREADABLE };
    case 'cancelled':
      return { code: 'cancelled', message: `The turn of this sub-agent was cancelled. ${STAYS}` };
    case 'foreign':
      return { code: 'refused', message: end.message };
    case 'failed':
      return { code: 'tool', message: `The sub-agent failed: ${end.message}. ${STAYS}` };
    default:
      return { code: 'tool', message: `The turn of this sub-agent was ${ENDED[end.kind]}. ${STAYS}` };
  }
}

const ENDED = { terminated: 'terminated by an operator', timed_out: 'ended because its time was over' };
const UNREADABLE = 'The sub-agent ended, and what it returned cannot be read.';

function answerIn({ status, answer, why, steps }: TurnResult): string | ToolFailure {
  if (status === 'answered') return answer;
  const because = why ?? `it has made ${steps} steps, and that is its limit`;
  const last = answer === '' ? '' : `\n\nWhat it said last:\n${answer}`;
  return { code: 'tool', message: `The sub-agent ended without an answer: ${because}. ${STAYS}${last}` };
}

/** Whether a workflow returned what a turn returns, as far as anybody looks at it. */
export function isTurnResult(value: unknown): value is TurnResult {
  if (!isObject(value)) return false;
  const { status, answer, steps, why } = value;
  const isKnown = typeof status === 'string' && ['answered', 'step_limit', 'budget', 'loop'].includes(status);
  const isWhy = why === undefined || typeof why === 'string';
  return isKnown && isWhy && typeof answer === 'string' && Number.isSafeInteger(steps) && areUsual(value);
}

function areUsual({ usage, counts, spent }: Record<string, unknown>): boolean {
  return isObject(usage) && isObject(counts) && (spent === undefined || isSpent(spent));
}

function isSpent(value: unknown): value is Spent {
  if (!isObject(value)) return false;
  const { money = {}, estimated = 0, tokens, steps, time } = value;
  const areAmounts = [tokens, steps, time, estimated].every(isAmount);
  return areAmounts && isObject(money) && Object.values(money).every(isAmount);
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= 1e12;
}

/** How an ended child turn is told to the activity of a turn that did not start it in this run. */
export interface ChildWaitInput {
  /** The turn that calls, and its call. */
  callId: string;
  tool: string;
  agent: string;
  child: string;
}

/** How a child turn ended, as an activity returns it; undefined: it cannot be read. */
export function readChildEnd(value: unknown): ChildEnd | undefined {
  if (!isObject(value)) return undefined;
  const { kind, message, result } = value;
  if (kind === 'completed') return { kind, result };
  if (kind === 'failed' || kind === 'foreign')
    return typeof message === 'string' ? { kind, message } : undefined;
  return kind === 'cancelled' || kind === 'terminated' || kind === 'timed_out' ? { kind } : undefined;
}
