import type { JsonSchema } from '../contract/tool';
import type { ClosingCause } from '../contract/call-texts';
import type { Abandonment, QuestionAnswer, Verdict } from '../contract/decision';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import type { ToolResult } from '../contract/result';
import { utf8Bytes } from '../contract/text/bytes';
import type { Vote } from '../contract/authority';
import type { SpentDecision, ValidCall, InDoubt } from '../contract/call';
import type { GrantMark } from '../contract/policy-rule';

/** The final decision on a call. A later sender reads it in the refusal. */
export interface FinalDecision {
  decision: string;
  approver: string;
  at: string;
}

/** Why a call may start. `decision` holds for one generation of the call, and only for what was seen. */
export type Leave =
  | { by: 'nobody' }
  | { by: 'grant'; grant: GrantMark }
  | {
      by: 'decision';
      decision: SpentDecision;
      /** The generation of the execution that the decision allows. `run-again` raises it. */
      generation: number;
      standing: FinalDecision;
      /** It came before a reset, a reset may have applied it again, or it names another run. */
      isOld?: boolean;
    };

/** What a call has in each of its states. */
export interface CallBasics {
  /** The call as it was prepared. An edit with a new plan replaces it. */
  readonly call: ValidCall;
  readonly callKey: string;
  readonly generation: number;
  /** The arguments that run: as they were prepared, or as a person changed them. */
  readonly effective: JsonObject;
  readonly effectiveDigest: string;
  /** Digest of what a person sees: effective arguments, preview and plan. A decision allows only what has this digest. */
  readonly seenDigest: string;
  /**
   * The votes so far, one for each person, if rules say who decides. The votes are about the request or, for a call
   * in doubt, about a further run.
   */
  readonly votes: readonly Vote[];
  /** The number of times that a worker said that the decision does not hold, and gave the call back. */
  readonly voided: number;
  /** The arguments that the model asked for. Set once a person has changed them. */
  readonly proposed?: JsonObject;
  /** The reason and author of the last edit, for the model. */
  readonly edit?: SpentDecision['edit'];
  /** Everybody who changed the arguments, also before the last edit. */
  readonly editors?: readonly string[];
  /** Why a person is asked again, or why a call in doubt was not given up. */
  readonly note?: string;
  /** Nobody decided in time, so the people whom the rule names for this case may decide, too. */
  readonly isEscalated?: true;
  /** Another build showed something else. An approval must carry the digest of what its sender saw. */
  readonly isOther?: true;
  /** A lost attempt of a call that may run again, or a run before a reset, may have run it. */
  readonly mayHaveRun?: true;
  /** Its scope was cancelled. Only in a workflow that runs the call by a gate: a turn cancels all its calls together. */
  readonly isCancelled?: true;
}

/** Since when a call waits for a person, and until when, as workflow time in ms. Null: it never expires. */
interface Wait {
  readonly since: number;
  readonly deadline: number | null;
}

/** The call waits for a decision. */
export interface RequestCall extends CallBasics, Wait {
  readonly phase: 'request';
}

/** The call waits for an answer, and the answer ends it. It never starts. */
export interface QuestionCall extends CallBasics, Wait {
  readonly phase: 'question';
  /** Only for a question that a running call asks: the attempt that asks, and the number of the question in it. */
  readonly asking?: { attempt: number; number: number };
}

/** The call is prepared anew, and then is a request again. `deadline` and `editBefore` count if that fails. */
export interface PreparingCall extends CallBasics, Wait {
  readonly phase: 'preparing';
  readonly editBefore?: SpentDecision['edit'];
  /** The admin who wants people to be asked again. Absent: a person changed the arguments. */
  readonly renewedBy?: string;
}

/** The call may start when the order of the step lets it. Its decision is not spent. */
export interface AllowedCall extends CallBasics {
  readonly phase: 'ready';
  readonly leave: Leave;
}

/** The call has started, and its decision is spent for good. */
export interface RunningCall extends CallBasics {
  readonly phase: 'running';
  readonly leave: Leave;
  /** Only a sender who knows this secret can report a late outcome, or ask in the name of the call. */
  readonly secret?: string;
  /** A pause holds the call. Its worker did not start it. */
  readonly isHeld?: boolean;
  /** The number of questions that the call has asked, and the milliseconds that it may still wait for answers. */
  readonly asked?: { questions: number; leftMs: number };
  /** A late outcome that arrived while the call still counted as running. */
  readonly reported?: ToolResult;
}

/** The call was started, and nobody knows the outcome. */
export interface DoubtedCall extends CallBasics {
  readonly phase: 'in_doubt';
  readonly leave: Leave;
  readonly since: number;
  readonly doubt: InDoubt;
  readonly secret?: string;
}

/** The call has its result. */
export interface DoneCall extends CallBasics {
  readonly phase: 'done';
  readonly result: ToolResult;
  /** Absent: the call was never allowed. */
  readonly leave?: Leave;
  /** Set if an activity made the result, so that history already holds its text. */
  readonly contentDigest?: string;
  /** Only for a question that was answered or declined. */
  readonly said?: QuestionAnswer;
}

/** One call. */
export type CallState =
  RequestCall | QuestionCall | PreparingCall | AllowedCall | RunningCall | DoubtedCall | DoneCall;

/**
 * A decision id that was used, and the verdict. The same content gets the same verdict again. Other content is refused.
 */
export interface SpentId {
  digest: string;
  verdict: Verdict;
}

/**
 * The verdicts by decision id. One workflow task may bring thousands of messages, so a new verdict copies only the small
 * parts: each part is larger than the next.
 */
export class Verdicts {
  private constructor(private readonly parts: readonly ReadonlyMap<string, SpentId>[]) {}

  static of(spent: Iterable<[string, SpentId]>): Verdicts {
    return new Verdicts([new Map(spent)]);
  }

  /** All of them, in the order in which their ids were used. */
  get all(): [string, SpentId][] {
    return [...new Map(this.parts.flatMap((part) => [...part]))];
  }

  get(decisionId: string): SpentId | undefined {
    return this.parts.findLast((part) => part.has(decisionId))?.get(decisionId);
  }

  with(decisionId: string, spent: SpentId): Verdicts {
    const parts = [...this.parts];
    let last: ReadonlyMap<string, SpentId> = new Map([[decisionId, spent]]);
    for (let before = parts.at(-1); before !== undefined && before.size <= last.size; before = parts.at(-1)) {
      last = new Map([...before, ...last]);
      parts.pop();
    }
    return new Verdicts([...parts, last]);
  }
}

/** The calls of a step or a gate, and what was said about them. Only `apply` makes another one. */
export interface Approvals {
  /** Calls of the current step, in the model's order. */
  readonly calls: ReadonlyMap<string, CallState>;
  /**
   * How calls of this step and of earlier steps were closed. `cause` is set if the workflow closed the call by
   * itself.
   */
  readonly closed: ReadonlyMap<string, { cause?: ClosingCause; standing?: FinalDecision }>;
  /** The calls that the workflow closed by itself and has not published yet. */
  readonly closings: ReadonlyMap<string, ClosingCause>;
  readonly verdicts: Verdicts;
  /** Schemas by tool digest, for checking edits. */
  readonly schemas: ReadonlyMap<string, JsonSchema>;
  /** The people whose words the model reads with the results of the current step. */
  readonly speakers: ReadonlySet<string>;
  readonly cancelled: boolean;
  /** Set by the `abandon` signal, at this workflow time (ms). It has no effect until the turn is cancelled. */
  readonly abandoned?: Abandonment & { at: number };
}

/** An empty state. `spent` comes from the previous run, if the turn continued as new. */
export function makeApprovals(spent: Iterable<[string, SpentId]> = []): Approvals {
  const verdicts = Verdicts.of(spent);
  return {
    calls: new Map(),
    closed: new Map(verdicts.all.flatMap(([, one]) => closedBy(one))),
    closings: new Map(),
    verdicts,
    schemas: new Map(),
    speakers: new Set(),
    cancelled: false,
  };
}

/** The most decisions that the next run gets. Older decisions can only be about calls that have ended. */
const CARRIED_DECISIONS = 200;

/** The newest decisions for `makeApprovals` of the next run. They fit into one payload together with a transcript. */
export function carriedDecisions({ verdicts }: Approvals): [string, SpentId][] {
  const newest = verdicts.all.slice(-CARRIED_DECISIONS);
  let room: number = LIMITS.carriedDecisionBytes;
  const first = newest.findLastIndex((one) => (room -= utf8Bytes(JSON.stringify(one))) < 0);
  return newest.slice(first + 1);
}

/** The decision of an earlier run that closed a call. The refusal of a second decision on the call names it. */
function closedBy({ verdict }: SpentId): [string, { standing: FinalDecision }][] {
  if (!verdict.accepted || verdict.asksAgain === true || verdict.needs !== undefined) return [];
  const { callId, decision, approver, at } = verdict;
  return [[callId, { standing: { decision, approver, at } }]];
}

/** Why a call may start, or has started. Undefined: it may not. */
export function leaveOf(state: CallState): Leave | undefined {
  return 'leave' in state ? state.leave : undefined;
}

/** The decision by which a call may start, or has started. */
export function decisionOf(state: CallState): Extract<Leave, { by: 'decision' }> | undefined {
  const leave = leaveOf(state);
  return leave?.by === 'decision' ? leave : undefined;
}

/** The secret of the execution that runs or is in doubt. */
export function secretOf(state: CallState): string | undefined {
  return state.phase === 'running' || state.phase === 'in_doubt' ? state.secret : undefined;
}

/** The result of a call. Undefined: it has none yet. */
export function resultOf(state: CallState | undefined): ToolResult | undefined {
  return state?.phase === 'done' ? state.result : undefined;
}

/** Whether a call waits for a decision or an answer. */
export function isOpen(state: CallState): state is RequestCall | QuestionCall {
  return state.phase === 'request' || state.phase === 'question';
}

/** The final decision on a call, whether it is over or not. */
export function standingOf({ closed, calls }: Approvals, callId: string): FinalDecision | undefined {
  const state = calls.get(callId);
  return (state && decisionOf(state)?.standing) ?? closed.get(callId)?.standing;
}

/** Whether a call was cancelled, with its turn or alone. */
export function isCancelled({ cancelled }: Pick<Approvals, 'cancelled'>, state: CallState): boolean {
  return cancelled || state.isCancelled === true;
}

/** The votes of everybody else. */
export function withoutVoter({ votes }: CallBasics, voter: string): Vote[] {
  return votes.filter((one) => one.voter !== voter);
}
