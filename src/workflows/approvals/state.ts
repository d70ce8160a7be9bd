import type { KnownState, UsedState, JsonSchema } from '../../contract/tool';
import type { Amounts } from '../../contract/spending/budget';
import type { ClosingCause } from '../../contract/call-texts';
import type { Abandonment, QuestionAnswer, SignalVerdict, Verdict } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import type { FilePlan } from '../../contract/plan';
import { LIMITS } from '../../contract/limits';
import type { ToolResult } from '../../contract/result';
import type { OpenMemo } from '../../contract/turn';
import { utf8Bytes } from '../../contract/text/bytes';
import type { Vote } from '../../contract/authority';
import type { SpentDecision, ValidCall, InDoubt, AskAgain } from '../../contract/call';
import type { GrantMark } from '../../contract/policy-rule';

/**
 * The phase of a call.
 * - `request`: the call waits for a decision.
 * - `question`: the call waits for an answer, and the answer ends it. It never becomes ready.
 * - `replanning`: a person edited the call, or an admin wants people to be asked again. It is prepared anew and then is
 *   a request again.
 * - `ready`: the call may start when the order of the step lets it.
 * - `running`: the activity of the call is scheduled.
 * - `in_doubt`: the call was started and nobody knows the outcome.
 * - `done`: the call has its result.
 */
export type Phase = 'request' | 'question' | 'replanning' | 'ready' | 'running' | 'in_doubt' | 'done';

/** A decision that a call holds. When the call starts, the decision is spent for good. */
export interface HeldDecision extends SpentDecision {
  /** The generation of the execution that the decision allows. `run-again` raises it. */
  generation: number;
  spent: boolean;
  /** It came before a reset, a reset may have applied it again, or it names another run. */
  isOld?: true;
}

/** The final decision on a call. A later sender reads it in the refusal. */
export interface FinalDecision {
  decision: string;
  approver: string;
  at: string;
}

/** One call of the current step. */
export interface CallState {
  /** The call as it was prepared. An edit with a new plan replaces it. */
  call: ValidCall;
  callKey: string;
  generation: number;
  phase: Phase;
  /** Whether the call needs a decision to start, because it was asked about or runs again. */
  needsDecision: boolean;
  /** Workflow time in ms when the call became a request or came in doubt. */
  since: number;
  /** Until when the call waits, as workflow time in ms. Null if it never expires or does not wait. */
  deadline: number | null;
  /** When its activity was last scheduled, as workflow time in ms. -Infinity: never. */
  scheduledAt: number;
  /** The arguments that run: as they were prepared, or as a person changed them. */
  effective: JsonObject;
  effectiveDigest: string;
  /**
   * Digest of what a person sees: effective arguments, preview and plan. A decision allows only what has this digest.
   */
  seenDigest: string;
  /** The arguments that the model asked for. Set once a person has changed them. */
  proposed?: JsonObject;
  /**
   * The votes so far, one for each person, if rules say who decides. The votes are about the request or, for a call
   * in doubt, about a further run.
   */
  votes?: Vote[];
  /** Nobody decided in time, so the people whom the rule names for this case may decide, too. */
  isEscalated?: true;
  /** The reason and author of the last edit, for the model. */
  edit?: { approver: string; reason?: string };
  /** Everybody who changed the arguments, also before the last edit. */
  editors?: string[];
  /**
   * Set while the call is prepared anew because an admin asked for it. `by` is the admin. The call gets `since` and
   * `deadline` back if it cannot be prepared.
   */
  renewal?: { by: string; since: number; deadline: number | null };
  /** The edit before the last one. It counts again if the last edit cannot be previewed. */
  editBefore?: { approver: string; reason?: string };
  plan?: FilePlan;
  held?: HeldDecision;
  /**
   * The grant by which the call starts. If its worker finds that the grant does not allow the call, the call becomes a
   * request.
   */
  grant?: GrantMark;
  /**
   * Set while workers that lack its agent or tool give the call back: the time of the first (workflow time in ms), and
   * the number of times.
   */
  absent?: { since: number; rounds: number };
  /** The number of times that a worker said that the decision does not hold, and gave the call back. Absent: never. */
  voided?: number;
  /** Set once a pause has held the call: the number of times, and whether a pause holds it now. */
  pauses?: { times: number; isHeld: boolean };
  /** What the turn knew about the shared state when the call was last scheduled. Only if the call shares state. */
  placed?: KnownState;
  /** A lost attempt may have run before a pause, before people were asked again, or on a worker that is gone. Never set for an unsafe call. */
  mayHaveRun?: true;
  standing?: FinalDecision;
  /**
   * Only for a question that a running call asks: the attempt that asks, the number of the question in that attempt,
   * and the answer.
   */
  asking?: { attempt: number; number: number; said?: QuestionAnswer };
  /** The number of questions that the call has asked, and the milliseconds that it may still wait for answers. */
  asked?: { questions: number; leftMs: number };
  /**
   * Only for a call that is a child turn, once it starts: the budget that is put aside for it, and the number of child
   * turns before it.
   */
  child?: { given: Amounts; before: number };
  /**
   * Secret of the execution that runs or is in doubt. Only a sender who knows this secret can report a late outcome.
   */
  secret?: string;
  doubt?: InDoubt;
  /** A late outcome that arrived while the call still counted as running. */
  reported?: ToolResult;
  result?: ToolResult;
  /** Set if an activity made the result, so that history already holds its text. */
  contentDigest?: string;
  /** The digest of the edited arguments for which a new preview is being made. */
  replanningFor?: string;
  /**
   * The scope of the call was cancelled. Only in a workflow that runs the call by a gate, because a turn cancels all
   * its calls together.
   */
  cancelled?: true;
  /**
   * Another build asked about the call and showed something else. An approval must carry the digest of what its sender
   * saw.
   */
  isOther?: true;
  /** Why a person is asked again: the last edit could not be previewed, or the decision did not hold. */
  note?: string;
}

/**
 * A decision id that was used, and the verdict. The same content gets the same verdict again. Other content is refused.
 */
export interface SpentId {
  digest: string;
  verdict: Verdict;
}

/** The state that decisions are judged by. Only the functions of this folder change it. */
export interface Approvals {
  /** Calls of the current step, in the model's order. */
  calls: Map<string, CallState>;
  /**
   * How calls of this step and of earlier steps were closed. `cause` is set if the workflow closed the call by
   * itself.
   */
  closed: Map<string, { cause?: ClosingCause; standing?: FinalDecision }>;
  /** The calls that the workflow closed by itself and has not published yet. */
  closings: Map<string, ClosingCause>;
  verdicts: Map<string, SpentId>;
  /** Schemas by tool digest, for checking edits. */
  schemas: Map<string, JsonSchema>;
  /** The people whose words the model reads with the results of the current step. */
  speakers: Set<string>;
  cancelled: boolean;
  /** Set by the `abandon` signal, at this workflow time (ms). It has no effect until the turn is cancelled. */
  abandoned?: Abandonment & { at: number };
}

/** An empty state. `spent` comes from the previous run, if the turn continued as new. */
export function makeApprovals(spent: Iterable<[string, SpentId]> = []): Approvals {
  const verdicts = new Map(spent);
  return {
    calls: new Map(),
    closed: new Map([...verdicts.values()].flatMap(closedBy)),
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
  const newest = [...verdicts].slice(-CARRIED_DECISIONS);
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

/**
 * How the activity of a call ended, or what its failure means. `contentDigest` is set only if an activity made the
 * result. `cause` is set only if no event of the activity shows it.
 */
export type Settlement =
  | ({ result: ToolResult; contentDigest?: string; cause?: ClosingCause } & UsedState)
  | ({ inDoubt: InDoubt } & UsedState)
  | AskAgain;

/** The state that decisions and other messages are about. A turn has one, and so does a gate in another workflow. */
export interface ApprovalContext {
  approvals: Approvals;
  /** A call's key is `<stepKey>:<callId>`, for all calls that are open at the same time. */
  stepKey: string;
  /** See `OpenMemo`. Absent in a gate. */
  by?: OpenMemo['by'];
  signalVerdicts: SignalVerdict[];
  /** The number of signals that have had a verdict so far. */
  signalCount: number;
  /** Decisions and resolutions by signal that are not judged yet. */
  signalsWaiting: number;
  /** Grows with each change that a step or the publisher has to react to. */
  revision: number;
}

/** Makes the step or the publisher look again. */
export function markChanged(context: ApprovalContext): void {
  context.revision += 1;
}
