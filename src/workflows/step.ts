import { condition, patched, uuid4 } from '@temporalio/workflow';
import type { PreparedCall } from '../contract/call';
import { PATCHES } from '../contract/names';
import type { ToolResult } from '../contract/result';
import type { ThinkOutput } from '../contract/think';
import { advance } from './advance';
import { Alarm } from './alarm';
import { cancelAll, register } from './approvals/transitions';
import { closeDry } from './fork';
import { touch } from './gated';
import type { Hands } from './hands';
import type { Turn } from './turn';

/** A call that is over: what was asked, and what came of it. */
export interface FinishedCall {
  call: PreparedCall;
  result: ToolResult;
  /** SHA-256 of the content, where history already holds the text. */
  contentDigest?: string;
  /** Whether the result was made by this workflow, so that the worker cannot know its text. */
  ours: boolean;
}

/** The calls of one reply, until each has its result: `while (step.goOn()) await step.change()`. */
export class Step {
  private readonly alarm: Alarm;
  /** What turns of 0.2.0 and before have looked at. */
  private seen = 0;

  constructor(
    private readonly turn: Turn,
    private readonly calls: readonly PreparedCall[],
    private readonly hands: Hands,
  ) {
    this.alarm = new Alarm(hands.shield, () => touch(turn));
    open(turn, calls);
    if (!turn.isQuiet) return;
    hands.publisher.hold();
    hands.bell.look();
  }

  /**
   * Nobody is asked in this step, so no timer runs. Then its loop belongs into the function that goes on afterwards: one
   * of its own costs each step two promises, of which the SDK keeps the stacks.
   */
  get isPlain(): boolean {
    return this.turn.isQuiet && this.calls.every(({ kind }) => kind !== 'ask');
  }

  /** Does all that can be done now. False: every call has its result. */
  goOn(): boolean {
    const { turn, hands } = this;
    if (turn.isQuiet && hands.bell.isBehind) return true;
    this.seen = turn.revision;
    advance(turn, hands);
    if (isOver(turn)) return this.close();
    this.alarm.set(nextDeadline(turn), 'a request expires');
    if (turn.isQuiet) this.publish();
    return true;
  }

  /** Waits until there may be more to do. */
  change(): Promise<void> {
    const { turn, hands, seen } = this;
    // Turns of 0.2.0 and before look once more at what they did themselves, and leave publishing to a second waiter.
    return turn.isQuiet ? hands.bell.next() : condition(() => turn.revision !== seen);
  }

  /** What came of the calls, in the model's order. */
  results(): FinishedCall[] {
    return this.calls.map((call) => finished(this.turn, call));
  }

  private publish(): void {
    this.hands.publisher.publish();
    this.hands.bell.look();
  }

  private close(): false {
    this.alarm.set(null, '');
    if (this.turn.isQuiet) this.hands.publisher.release();
    return false;
  }
}

/**
 * The keys of a step's calls follow from its reply: a reset that keeps the reply keeps them, and what had started under
 * one is known by it; a model that is asked anew gives new ones. Turns of the first release drew them, and still do.
 */
export function stepKeyOf({ isQuiet }: Turn, { replyId }: ThinkOutput): string {
  // The later patch says the earlier one as well.
  return isQuiet || patched(PATCHES.replyKeys) ? replyId : uuid4();
}

function open(turn: Turn, calls: readonly PreparedCall[]): void {
  const now = Date.now();
  turn.approvals.calls.clear();
  for (const call of calls) {
    if (call.kind !== 'run' && call.kind !== 'ask') continue;
    register(turn.approvals, call, { callKey: `${turn.stepKey}:${call.callId}`, now });
  }
  closeDry(turn, now);
  if (turn.approvals.cancelled) cancelAll(turn.approvals, now);
  touch(turn);
}

function isOver(turn: Turn): boolean {
  return [...turn.approvals.calls.values()].every((state) => state.phase === 'done');
}

function nextDeadline(turn: Turn): number | null {
  const deadlines = [...turn.approvals.calls.values()].flatMap((state) => state.deadline ?? []);
  return deadlines.length === 0 ? null : Math.min(...deadlines);
}

function finished(turn: Turn, call: PreparedCall): FinishedCall {
  const state = turn.approvals.calls.get(call.callId);
  if (state?.result === undefined) return { call, result: ownResult(call), ours: false };
  const { result, contentDigest } = state;
  return contentDigest === undefined
    ? { call, result, ours: true }
    : { call, result, contentDigest, ours: false };
}

/** Of a call that brought its result along. */
function ownResult(call: PreparedCall): ToolResult {
  if (call.kind !== 'invalid' && call.kind !== 'recorded')
    throw new Error(`call ${call.callId} ended without a result`);
  return call.result;
}
