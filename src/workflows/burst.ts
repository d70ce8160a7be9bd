import type { RawValue } from '@temporalio/common';
import { ApplicationFailure, CancelledFailure, sleep } from '@temporalio/workflow';
import { type BurstOutput, type BurstStep, endedIn, spanOf } from '../contract/burst/burst';
import type { ObservedFact } from '../activities/observed';
import { addTime } from '../contract/spending/budget';
import { readBurstOutput } from '../contract/burst/read';
import { readThinkOutput } from '../contract/payloads';
import { FAILURES, callKey } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import { plainMarkdown } from '../contract/text/markdown';
import { countReply } from './spending';
import { MOST_ASKED, decodedValueOf } from './messages';
import { report } from './observe';
import { noteStep } from './repeats';
import { addResults, appendResults, takeReply } from './think';
import type { Turn } from './turn-state';
import type { TurnOrigin } from '../contract/call';

/** How the steps of one activity ended in their turn. */
export interface Taken {
  last: ThinkOutput;
  /** Whether the calls of the last reply already have their results. False: the turn continues with these calls. */
  isOver: boolean;
  /** Why asking for a further step failed, and how long to wait before the model is asked again. */
  failed?: BurstOutput['failed'];
}

/**
 * Takes the output of the activity: a burst, or one reply. Each step is applied as a step of its own. Undefined: the
 * output cannot be read, and the model has to be asked again.
 *
 * @param since When the model was asked, as workflow time in ms.
 */
export function takeSteps(turn: Turn, result: RawValue, asked: number, since: number): Taken | undefined {
  const value = decodedValueOf(result);
  const burst = readBurstOutput(value);
  if (burst !== undefined) return takeBurst(turn, burst);
  const reply = readThinkOutput(value);
  if (reply !== undefined) {
    takeReply(turn, reply);
    countReply(turn, reply, Date.now() - since);
    return { last: reply, isOver: false };
  }
  if (asked < MOST_ASKED) return undefined;
  const message = `what the model's activity returned could not be read, ${MOST_ASKED} times`;
  throw ApplicationFailure.nonRetryable(message, FAILURES.model);
}

function takeBurst(turn: Turn, output: BurstOutput): Taken {
  const taken = apply(turn, output);
  if (turn.approvals.cancelled && (taken.isOver || taken.last.calls.length === 0))
    throw new CancelledFailure('the turn was cancelled');
  const { failed } = output;
  if (failed?.tried !== undefined) turn.tried = failed.tried;
  return { ...taken, failed };
}

/** After a burst whose model failed, waits as long as the burst says. */
export function untilAskedAgain({ message, waitMs = 0 }: NonNullable<Taken['failed']>): Promise<void> {
  return sleep(waitMs, { summary: plainMarkdown(`the model is asked again: ${message}`.slice(0, 120)) });
}

function apply(turn: Turn, { steps }: BurstOutput): Taken {
  let taken: Taken | undefined;
  const facts: ObservedFact[] = [];
  const last = steps.at(-1);
  for (const step of steps) {
    if (taken !== undefined) turn.step += 1;
    takeReply(turn, step.reply);
    countReply(turn, step.reply, step.replied - step.asked);
    const ended = step.calls === undefined ? [] : applyCalls(turn, step, step === last);
    for (const one of ended) facts.push(endedFact(turn, one, step.reply.replyId));
    taken = { last: step.reply, isOver: step.calls !== undefined };
  }
  // One report for all: each is a message between threads, and the worker waits for it.
  report(...facts);
  if (taken === undefined) throw new Error('a burst without a step');
  return taken;
}

/** Adds the results of a step, and gives its calls. */
function applyCalls(turn: Turn, step: BurstStep, isLast: boolean): ReturnType<typeof endedIn> {
  const ended = endedIn(step);
  const finished = ended.map((one) => ({ ...one, ours: false }));
  // The digests of results take time. They are for the next `think`, and to find steps that repeat this one.
  if (isLast || step.reply.repeats !== undefined) appendResults(turn, finished);
  else addResults(turn, finished);
  turn.spending.spent = addTime(turn.spending.spent, spanOf(step));
  noteStep(turn, step.reply.calls);
  return ended;
}

/** The fact that a call ended in a burst, or never ran there. */
function endedFact(
  { agent, origin }: { agent: string; origin?: TurnOrigin },
  { call: { tool, callId, kind }, result }: ReturnType<typeof endedIn>[number],
  replyId: string,
): ObservedFact {
  const key = kind === 'invalid' ? {} : { callKey: callKey(replyId, callId) };
  const of = { agent, tool, callId, ...key, trace: origin?.trace };
  return { kind: 'ended', ...of, outcome: result.error?.code ?? 'success', at: Date.now() };
}
