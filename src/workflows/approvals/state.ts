import type { Vote } from '../../contract/authority/authority';
import type { AskAgain, GrantMark, InDoubt, SpentDecision, ValidCall } from '../../contract/call';
import type { KnownState, UsedState, JsonSchema } from '../../contract/tool';
import type { Amounts } from '../../contract/spending/budget';
import type { ClosingCause } from '../../contract/call-messages';
import type { Abandonment, QuestionAnswer, SignalVerdict, Verdict } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import type { FilePlan } from '../../contract/plan';
import { LIMITS } from '../../contract/limits';
import type { ToolResult } from '../../contract/result';
import { utf8Bytes } from '../../contract/text/bytes';

/**
 * Where a call is.
 * - `request`: waits for a decision.
 * - `question`: waits for an answer, which ends it. It never becomes ready.
 * - `replanning`: a person edited it, or an admin wants it asked again; it is prepared anew, then it is a request again.
 * - `ready`: may start when the order of the step lets it.
 * - `running`: its activity is scheduled.
 * - `in_doubt`: it was started and nobody knows the outcome.
 * - `done`: it has its result.
 */
export type Phase = 'request' | 'question' | 'replanning' | 'ready' | 'running' | 'in_doubt' | 'done';

/** A decision that a call holds. Unspent until the call starts, then spent for good. */
export interface HeldDecision extends SpentDecision {
  /** Of the execution it allows; `run-again` raises it. */
  generation: number;
  spent: boolean;
}

/** The decision that stands for a call, for whoever comes second. */
export interface FinalDecision {
  decision: string;
  approver: string;
  at: string;
}

/** One call of the current step. */
export interface CallState {
  /** As prepared; replaced when an edit made a new plan. */
  call: ValidCall;
  callKey: string;
  generation: number;
  phase: Phase;
  /** Whether starting needs a decision: asked for, or run again. */
  needsDecision: boolean;
  /** Workflow time in ms when it became a request or in doubt. */
  since: number;
  /** Workflow time in ms; null where it never expires or does not wait. */
  deadline: number | null;
  /** Workflow time in ms when its activity was scheduled last; -Infinity where it never was. */
  scheduledAt: number;
  /** What runs: the prepared arguments, or a person's. */
  effective: JsonObject;
  effectiveDigest: string;
  /** Digest of what a person sees: effective arguments, preview and plan. Nothing else may start with its decision. */
  seenDigest: string;
  /** What the model asked for, once a person has changed it. */
  proposed?: JsonObject;
  /** Only where rules say who decides: the votes so far, one a person. Those on a request, or, in doubt, on running it again. */
  votes?: Vote[];
  /** Nobody decided in time, so those whom the rule names for this may, too. */
  isEscalated?: true;
  /** The reason and author of the last edit, for the model. */
  edit?: { approver: string; reason?: string };
  /** Set while it is prepared anew because an admin asked for it, with what holds where it stays as it was. */
  renewal?: { by: string; since: number; deadline: number | null };
  /** The edit that stands while a new preview is being made for another one. */
  editBefore?: { approver: string; reason?: string };
  plan?: FilePlan;
  held?: HeldDecision;
  /** It starts by this grant, unless its worker finds that it may not; then it becomes a request. */
  grant?: GrantMark;
  /** Set while workers that lack its agent or tool give it back: since when (workflow time in ms), and how often. */
  absent?: { since: number; rounds: number };
  /** Set once a pause has held it: how often, and whether one does now. */
  pauses?: { times: number; isHeld: boolean };
  /** What the turn knew of its state when it was scheduled last; only where it shares state. */
  placed?: KnownState;
  /** It waited for a worker that is gone, and a lost attempt there may have run. Never of an unsafe call. */
  mayHaveRun?: true;
  standing?: FinalDecision;
  /** Only of a question that a call asks while it runs: which attempt asks, the question's number there, and what a person said. */
  asking?: { attempt: number; number: number; said?: QuestionAnswer };
  /** How many questions it has asked, and milliseconds for which it may wait for further answers. */
  asked?: { questions: number; leftMs: number };
  /** Of a call that is a child turn, once it starts: what was put aside for it, and how many child turns came before. */
  child?: { given: Amounts; before: number };
  /** Secret of the execution that runs or is in doubt: only a sender who knows it can report a late outcome. */
  secret?: string;
  doubt?: InDoubt;
  /** A late outcome that came while the call still counted as running. */
  reported?: ToolResult;
  result?: ToolResult;
  /** SHA-256 of the result's content, where history already holds the text. */
  contentDigest?: string;
  /** Digest of the edited arguments that a new preview is being made for. */
  replanningFor?: string;
  /** Its own scope was cancelled, in a workflow that runs it by a gate. A turn cancels all its calls at once. */
  cancelled?: true;
  /** It was asked about on another build, and shown otherwise there: an approval has to say what its sender saw. */
  isOther?: true;
  /** Why it is asked about once more: the last edit could not be previewed, or the decision did not hold. */
  note?: string;
}

/** The verdict on a decision id: a repeat gets the same one, other content is refused. */
export interface SpentId {
  digest: string;
  verdict: Verdict;
}

/** The state that decisions are judged by. Only the functions of this folder change it. */
export interface Approvals {
  /** Calls of the current step, in the model's order. */
  calls: Map<string, CallState>;
  /** How calls of earlier steps, and of this one, were closed; `cause` where the workflow closed them by itself. */
  closed: Map<string, { cause?: ClosingCause; standing?: FinalDecision }>;
  /** What the workflow closed by itself and has not published yet. */
  closings: Map<string, ClosingCause>;
  verdicts: Map<string, SpentId>;
  /** Schemas by tool digest, for checking edits. */
  schemas: Map<string, JsonSchema>;
  cancelled: boolean;
  /** Set by the `abandon` signal; has no effect until the turn is cancelled. */
  abandoned?: Abandonment;
}

/** An empty state; `spent` comes from the run before, where the turn continued as new. */
export function makeApprovals(spent: Iterable<[string, SpentId]> = []): Approvals {
  const verdicts = new Map(spent);
  return {
    calls: new Map(),
    closed: new Map([...verdicts.values()].flatMap(closedBy)),
    closings: new Map(),
    verdicts,
    schemas: new Map(),
    cancelled: false,
  };
}

/** How many decisions the next run gets at most. Older ones can only be about calls that have ended. */
const CARRIED_DECISIONS = 200;

/** The newest decisions for `makeApprovals` of the next run, as many as fit one payload beside a transcript. */
export function carriedDecisions({ verdicts }: Approvals): [string, SpentId][] {
  const newest = [...verdicts].slice(-CARRIED_DECISIONS);
  let room: number = LIMITS.carriedDecisionBytes;
  const first = newest.findLastIndex((one) => (room -= utf8Bytes(JSON.stringify(one))) < 0);
  return newest.slice(first + 1);
}

/** How a decision of the run before closed its call: a second decision on that call hears of the first. */
function closedBy({ verdict }: SpentId): [string, { standing: FinalDecision }][] {
  if (!verdict.accepted || verdict.asksAgain === true || verdict.needs !== undefined) return [];
  const { callId, decision, approver, at } = verdict;
  return [[callId, { standing: { decision, approver, at } }]];
}

/**
 * How the activity of a call ended, or what its failure means. `contentDigest` only where an activity made the result,
 * `cause` only where no event of the activity shows it.
 */
export type Settlement =
  | ({ result: ToolResult; contentDigest?: string; cause?: ClosingCause } & UsedState)
  | ({ inDoubt: InDoubt } & UsedState)
  | AskAgain;

/** The state behind decisions and what is published about them. A turn has one, and so has a gate in another workflow. */
export interface ApprovalContext {
  approvals: Approvals;
  /** A call's key is `<stepKey>:<callId>`, for all calls that are open together. */
  stepKey: string;
  signalVerdicts: SignalVerdict[];
  /** How many verdicts on signals there have been in all. */
  signalCount: number;
  /** Decisions and resolutions by signal that are not judged yet. */
  signalsWaiting: number;
  /** Grows with each change that a step or the publisher has to look at. */
  revision: number;
}

/** Makes the step or the publisher look again. */
export function markChanged(context: ApprovalContext): void {
  context.revision += 1;
}

const CALL_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Keeps the verdict on a signal for the memo: its sender has no other answer. */
export function noteVerdict(context: ApprovalContext, verdict: Verdict, now: number): void {
  const line: SignalVerdict = {
    // In a message that cannot be read it may be anything.
    callId: CALL_ID.test(verdict.callId) ? verdict.callId : '',
    verdict: verdict.accepted ? 'accepted' : verdict.code,
    decisionId: verdict.decisionId ?? '',
    at: new Date(now).toISOString(),
    ...(verdict.accepted && verdict.asksAgain === true ? { asksAgain: true as const } : {}),
    ...(verdict.accepted && verdict.needs !== undefined ? { stillWaits: true as const } : {}),
  };
  context.signalCount += 1;
  context.signalsWaiting -= 1;
  context.signalVerdicts.push(line);
  if (context.signalVerdicts.length > LIMITS.memoVerdicts) context.signalVerdicts.shift();
}
