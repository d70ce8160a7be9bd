import { upsertMemo } from '@temporalio/workflow';
import { estimatedTokens, tokensOf } from '../contract/spending/usage';
import {
  addSpent,
  amountText,
  budgetText,
  type Crossing,
  crossingOf,
  crossingText,
  RAISE_BUDGET,
  raised,
  raiseSchema,
  smallerOf,
  spentInReply,
  spentText,
} from '../contract/spending/budget';
import type { ValidCall } from '../contract/call';
import { digestJson } from '../contract/digest';
import { TIMES } from '../contract/limits';
import { gateMemoKey } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { CallState } from './approvals/state';
import { Step } from './step';
import type { Turn, TurnRuntime } from './turn';

/** Counts what a reply has used, and takes over what the agent allows, once: what people add later stays. */
export function countReply(turn: Turn, output: ThinkOutput, thoughtMs: number): void {
  const { spending } = turn;
  const counted = tokensOf(output.usage);
  const tokens = counted ?? estimatedTokens(turn.transcript.size);
  spending.spent = addSpent(spending.spent, {
    ...spentInReply(output),
    ...{ tokens, time: thoughtMs },
    ...(counted === undefined ? { estimated: tokens } : {}),
  });
  if (spending.isSet) return;
  spending.isSet = true;
  // What the agent says about asking counts; whoever starts a turn only makes it smaller.
  spending.budget = smallerOf(output.budget, spending.budget);
}

/** What is used up: of what the parent has left, which nobody can raise here, or of the turn's own budget. */
export function usedUp({ spending, cap }: Turn): { crossing: Crossing; isFinal: boolean } | undefined {
  const capped = crossingOf(cap, spending.spent);
  if (capped !== undefined) return { crossing: capped, isFinal: true };
  const crossing = crossingOf(spending.budget, spending.spent);
  return crossing && { crossing, isFinal: spending.budget.then !== 'ask' };
}

/**
 * Asks a person for more, until enough is left of each kind.
 *
 * @returns why the turn has to end, in words; undefined where it may go on.
 */
export async function askForMore(turn: Turn, runtime: TurnRuntime): Promise<string | undefined> {
  for (let asked = 1; ; asked++) {
    const used = usedUp(turn);
    if (used === undefined || turn.approvals.cancelled) return undefined;
    const { crossing, isFinal } = used;
    if (isFinal || turn.fork?.world === 'dry') return crossingText(crossing);
    const state = await decided(turn, requestOf(turn, crossing, asked), runtime);
    turn.counts.requests += 1;
    if (state.edit !== undefined) turn.counts.modified += 1;
    if (state.result?.error?.code === 'denied') turn.counts.denied += 1;
    if (state.result?.error?.code === 'expired') turn.counts.expired += 1;
    if (state.result?.success !== true) {
      if (turn.approvals.cancelled) return undefined;
      return `${crossingText(crossing)}; ${state.result?.error?.message ?? 'nobody allowed more'}`;
    }
    turn.spending.budget = raised(turn.spending.budget, state.effective);
  }
}

/** The request waits as those of calls do: same inbox, same decisions, same expiry. */
async function decided(turn: Turn, call: ValidCall, runtime: TurnRuntime): Promise<CallState> {
  const key = gateMemoKey(call.callId);
  upsertMemo({ [key]: call });
  const step = new Step(turn, [call], runtime);
  while (step.proceed()) await step.changed();
  upsertMemo({ [key]: null });
  const state = turn.approvals.calls.get(call.callId);
  if (state === undefined) throw new Error(`call ${call.callId} is not open`);
  return state;
}

function requestOf(turn: Turn, crossing: Crossing, asked: number): ValidCall {
  const { kind, limit, spent, currency } = crossing;
  const callId = `${turn.step}.budget${asked === 1 ? '' : asked}`;
  const schema = raiseSchema(kind);
  // As much again; a budget of nothing is raised by what was spent.
  const more = limit > 0 ? limit : Math.max(1, spent);
  const args = { [kind]: more };
  const toolDigest = digestJson({ name: RAISE_BUDGET, schema });
  turn.approvals.schemas.set(toolDigest, schema);
  const { counts, spending, children } = turn;
  const on = `${spentText(spending.spent)}; ${counts.calls} calls${children === 0 ? '' : `, ${children} child turns`}`;
  return {
    kind: 'ask',
    callId,
    id: callId,
    tool: RAISE_BUDGET,
    arguments: args,
    argsDigest: digestJson(args),
    toolDigest,
    policyReason:
      `the turn cannot go on: ${crossingText(crossing)}. Spent so far: ${on}. ` +
      `Its budget: ${budgetText(spending.budget)}. Approve to add ${amountText(kind, more, currency)}`,
    settings: {
      safety: 'dangerous',
      effect: 'idempotent',
      timeoutMs: TIMES.toolTimeout,
      heartbeatMs: TIMES.heartbeatTimeout,
      retry: { maximumAttempts: 1, initialIntervalMs: 1000, backoffCoefficient: 1 },
      requestExpiresMs: TIMES.requestExpires,
      startWithinMs: TIMES.startWithin,
    },
  };
}
