import type { CallInput, CallOutput, PreparedCall, TurnOrigin, ValidCall } from '../call';
import type { JsonObject } from '../json';
import { digestText } from '../digest';
import { callKey } from '../names';
import type { ToolResult } from '../result';
import type { Budget, Spent } from '../spending/budget';
import type { Repeated } from '../spending/carried';
import type { GateMode, ResultRef, ThinkInput, ThinkOutput } from '../think';

/** A budget with its spending so far. */
export interface Limited {
  budget: Budget;
  spent: Spent;
  /**
   * The field of the first reply that has the budget of the agent, by which this budget is then limited. Absent once a
   * reply has come.
   */
  sets?: 'budget' | 'sessionBudget';
}

/** Input of `countersign.burst`: the input of `think` for its first step, and the limits at which the burst ends. */
export interface BurstInput extends ThinkInput {
  burst: GateMode & {
    /** Bytes of the transcript that the first step is about. */
    size: number;
    /** The last steps that were alike. */
    repeated: Repeated;
    /** The budgets of the burst. The burst ends once one of these budgets is used up. */
    limits: Limited[];
    originalRunId: string;
    /** The turn is a fork in a dry world. */
    dry?: true;
  };
}

/**
 * Input of `countersign.think` before the first reply of a turn. The turn does not know the mode of its agent yet, so a
 * worker whose agent has `durability: 'gate'` answers with a burst. Fields of `burst` that are absent say that nothing
 * was spent and that nothing but the agent sets a limit.
 */
export interface FirstInput extends ThinkInput {
  burst?: Partial<Pick<BurstInput['burst'], 'limits' | 'repeated'>> &
    Omit<BurstInput['burst'], 'commitMs' | 'limits' | 'repeated'>;
}

/** Output of `countersign.burst`, and of the first `countersign.think` of a turn in bursts: one step or more, each as `think` and the calls would have left it. */
export interface BurstOutput {
  steps: BurstStep[];
  /**
   * The time that the attempt has taken until now, in milliseconds. The times of steps and calls count from its
   * beginning.
   */
  ms: number;
  /**
   * Why asking for the next step failed, and how long to wait before the model is asked again. The next activity goes on from
   * `tried`. `isLast`: the next activity asks no model, and fails with what `tried` has. Absent: asking did not fail.
   */
  failed?: { message: string; waitMs?: number; tried?: JsonObject; isLast?: true };
}

/** A step of a burst. */
export interface BurstStep {
  reply: ThinkOutput;
  asked: number;
  replied: number;
  /** The calls that ran, in the model's order. Absent: the turn runs the calls, or there are none. */
  calls?: BurstCall[];
}

/** A call that ran in a burst. */
export interface BurstCall {
  callId: string;
  started: number;
  ended: number;
  attempts: number;
  /** It ended with a result. */
  output: Extract<CallOutput, { result: ToolResult }>;
}

/** A call of a burst with its result. */
interface EndedOf {
  call: PreparedCall;
  result: ToolResult;
  /** SHA-256 of the content. */
  contentDigest: string;
}

/**
 * The calls of a finished step with their results, in the model's order: calls that ran, and calls that are invalid.
 */
export function endedIn({ reply, calls = [] }: BurstStep): EndedOf[] {
  const ran = new Map(calls.map(({ callId, output }) => [callId, output]));
  return reply.calls.flatMap((call) => {
    const output = ran.get(call.callId);
    const result = output?.result ?? (call.kind === 'invalid' ? call.result : undefined);
    if (result === undefined) return [];
    return [{ call, result, contentDigest: output?.contentDigest ?? digestText(result.content) }];
  });
}

/** The time that the calls of a step took, from the first start to the last end. */
export function spanOf({ calls = [] }: BurstStep): number {
  if (calls.length === 0) return 0;
  const started = Math.min(...calls.map((call) => call.started));
  return Math.max(0, ...calls.map((call) => call.ended - started));
}

/** The results of a finished step, as the next `think` is given them. */
export function refsOf(ended: readonly EndedOf[]): ResultRef[] {
  return ended.map(({ call, result, contentDigest }) => ({
    callId: call.callId,
    digest: contentDigest,
    success: result.success,
  }));
}

/** The turn and the reply that a call of a burst belongs to. */
interface CallOf {
  agent: string;
  replyId: string;
  originalRunId: string;
  origin?: TurnOrigin;
  dry?: true;
}

/** The input of a call in a burst. The call would get the same input in a separate activity. */
export function burstCallInput(call: ValidCall, { agent, replyId, originalRunId, ...of }: CallOf): CallInput {
  return {
    callId: call.callId,
    id: call.id,
    tool: call.tool,
    agent,
    callKey: callKey(replyId, call.callId),
    generation: 0,
    arguments: call.arguments,
    argsDigest: call.argsDigest,
    toolDigest: call.toolDigest,
    effect: call.settings.effect,
    timeoutMs: call.settings.timeoutMs,
    originalRunId,
    origin: of.origin,
    dry: of.dry,
  };
}
