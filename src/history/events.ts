import type {
  AnswerKind,
  DecisionKind,
  RefusalCode,
  ResolutionKind,
  VotesNeeded,
  VoteSignature,
} from '../contract/decision';
import type { JsonObject } from '../contract/json';
import type { Preview } from '../contract/plan';
import type { Question } from '../contract/question';
import type { ResultKind, ToolResult } from '../contract/result';
import type { Effect, Issue, JsonSchema, Safety } from '../contract/tool';
import type { Authority, DatedVote } from '../contract/authority';
import type { CallRuling, GrantMark, GrantUse } from '../contract/policy-rule';
import type { Roster } from '../contract/roster';
import type { CallState } from '../lifecycle/state';
import type { FileRef } from '../contract/session/files';
import type { ForkOrigin } from '../contract/fork';
import type { TranscriptEntry } from '../contract/transcript';
import type { ModelNote } from '../contract/think';
import type { Usage } from '../contract/spending/usage';
import type { TurnResult } from '../contract/turn';
import type { TurnEnd } from '../contract/turn-states';
import type { Ancestor, CallProgress, TurnOrigin } from '../contract/call';
import type { Budget } from '../contract/spending/budget';

/** The fields that every turn event has. */
export interface EventHeader {
  /**
   * The id of the history event from which this event was made, in its run. Several turn events can come from one
   * history event.
   */
  eventId: number;
  /** The time when the server recorded the history event, ISO 8601. */
  at: string;
}

/** The phase of a call. A call that nobody has prepared yet, or that nobody can see yet, is `preparing`. */
export type CallPhase = CallState['phase'];

/** Where a call is. */
export interface CallNow {
  phase: CallPhase;
  /** How it ended. Absent if it has not ended, and if its turn ended before. */
  outcome?: ResultKind;
  /** The votes that count, one for each person. Empty if no rule says who decides. */
  votes: DatedVote[];
}

/** The fields that every event of a call has. */
export interface CallHeader extends EventHeader {
  /** Where the call is after the event. Absent: the current step has no such call. */
  now?: CallNow;
  /** Anybody may name any call in a message. Empty if the message could not be read. */
  callId: string;
}

/** One call as a step proposes it, in short. */
export interface ProposedCall {
  callId: string;
  /** Where the call is after its step. */
  now?: CallNow;
  /** The model's own id. */
  id: string;
  tool: string;
  /**
   * `remote`: the worker that has the tool still has to prepare the call; the event call_prepared follows. `recorded`:
   * a fork took over its result.
   */
  kind: 'invalid' | 'run' | 'ask' | 'remote' | 'recorded';
  /** The arguments with defaults; `{}` if they could not be parsed. */
  arguments: JsonObject;
  /** The arguments that the model wrote. Only if defaults changed them. */
  proposed?: JsonObject;
  /** The text that the model wrote as arguments. Only if it is not parsed (yet). */
  raw?: string;
  /** Why an invalid call cannot run. */
  error?: string;
  /** The effect of the tool. Only for a call that may run. */
  effect?: Effect;
  /** The verdicts of the policy rules. Only if a rule fitted. */
  ruling?: CallRuling;
}

/**
 * A call is prepared: a `remote` call, a call that was edited and needed a new plan, or a call that another workflow
 * gates.
 */
interface CallPrepared extends CallHeader {
  type: 'call_prepared';
  call: ProposedCall;
}

/**
 * A call waits for a decision. From now on, and not before, it can be decided. The event occurs again if an edit or
 * a reset makes somebody look again.
 */
export interface RequestOpened extends CallHeader {
  type: 'request_opened';
  callKey: string;
  tool: string;
  safety: Safety;
  effect: Effect;
  /** The arguments that run when the call is approved. */
  arguments: JsonObject;
  /** The digest of everything that is shown: arguments, preview and plan. A decision carries it. */
  seenDigest: string;
  /** The digest of the tool's name, description, schema, safety and effect. */
  toolDigest: string;
  /** Why the same request comes once more: the last edit was not taken, or the decision did not hold. */
  note?: string;
  /**
   * The arguments that the model asked for. Set only if other arguments run, because defaults were filled in or a
   * person changed them.
   */
  proposed?: JsonObject;
  /** The person who changed the arguments last, and the reason. Absent if no person changed them. */
  edit?: { approver: string; reason?: string };
  preview?: Preview;
  /** Why the policy wants a decision, if it gave a reason. */
  policyReason?: string;
  /** What to know about the arguments: what was read otherwise than it was written, and what nobody here checks. */
  notes?: string[];
  /** Set if the tool wants its requests decided one by one. */
  noBatch?: boolean;
  /**
   * `none`: no grant replaces a decision. `equal`: only a grant for the same arguments does. Absent: any grant does.
   */
  grants?: 'none' | 'equal';
  /** The MCP server that has the tool. Absent: the tool is not from an MCP server. */
  server?: string;
  /** The schema that changed arguments have to fit. Absent if the record has no schema. */
  schema?: JsonSchema;
  /** The time after which the handler is ended, in milliseconds. Absent if the record does not have it. */
  timeoutMs?: number;
  /** A user's own workflow asks, and itself runs the call. How often it runs the call is not known here. */
  unowned?: true;
  /** A gate in a user's own workflow runs the call. The activity is the user's, and has no journal. */
  byGate?: true;
  /** The authority that decides the call. Absent: everybody who may signal the turn can decide. */
  authority?: Authority;
  /** Since when the request waits, ISO 8601. Set only if asking again failed: then it waits as before. Absent: `at`. */
  since?: string;
  /** ISO 8601, workflow time. Null if the request never expires. */
  deadline: string | null;
  /** One line with the tool and the arguments. */
  summary: string;
}

/** Nobody decided in time, so more people may decide now. */
interface RequestEscalated extends CallHeader {
  type: 'request_escalated';
  /** The people and the groups (`group:<name>`) who may decide now, too. */
  to: string[];
}

/**
 * The decision on a call does not hold in this run or under the rules, so the handler was not called. The event
 * request_opened follows.
 */
interface DecisionVoid extends CallHeader {
  type: 'decision_void';
  tool: string;
  message: string;
  /** The people whose votes do not count. Other votes still count. Absent: no vote counts. */
  struck?: string[];
}

/** A call is a question and waits for an answer. From now on, and not before, it can be answered. */
export interface QuestionOpened extends CallHeader {
  type: 'question_opened';
  callKey: string;
  tool: string;
  question: Question;
  /** ISO 8601, workflow time. Null if the question never expires. */
  deadline: string | null;
  /** One line with the tool and the question. */
  summary: string;
}

/** Nobody decided or answered in time. Nothing ran. */
interface RequestExpired extends CallHeader {
  type: 'request_expired';
  /** The call was a question. */
  question?: true;
}

/**
 * A call's activity is scheduled, and runs once a worker takes it. The event occurs again with a higher generation
 * after `run-again`.
 */
export interface CallStarted extends CallHeader {
  type: 'call_started';
  tool: string;
  /** 0 at first. Each `run-again` adds one. */
  generation: number;
  arguments: JsonObject;
  effect: Effect;
  taskQueue: string;
  /** The grant that lets the call start without a decision. Its worker claims a use of the grant before the handler. */
  grant?: GrantMark;
  /** The decision by which the call starts. Absent for calls that need no decision. */
  decision?: { decision: DecisionKind | 'run-again'; approver: string; reason?: string };
}

/**
 * No worker that has what the call needs has taken the call yet. There is one such event, however often the call is
 * tried.
 */
interface CallWaits extends CallHeader {
  type: 'call_waits';
  tool: string;
  /** What the worker that took the call lacks, or why the call goes to another worker. */
  message: string;
}

/**
 * A pause holds the call. It did not start, and is tried again. The next event is call_resumed, or the end of the call
 * with its turn.
 */
interface CallHeld extends CallHeader {
  type: 'call_held';
  tool: string;
  /** Who paused what, when and why, or why the pauses cannot be read. */
  message: string;
}

/** No pause holds the call any more, so it is about to start. */
interface CallResumed extends CallHeader {
  type: 'call_resumed';
  tool: string;
}

/** The child turn of a call runs. The event occurs again after a reset, although the child turn existed before. */
interface ChildStarted extends CallHeader {
  type: 'child_started';
  tool: string;
  /** The id of the child turn. */
  child: string;
}

/** A call has its result. This is the last event of a call, unless an outcome_reported comes late. */
export interface CallEnded extends CallHeader {
  type: 'call_ended';
  tool: string;
  result: ToolResult;
  /** The time from scheduling to closing, in milliseconds. Null if nothing was scheduled. */
  durationMs: number | null;
  /** 0 if nothing was started. */
  attempts: number;
  /**
   * Where the result comes from. `handler`: the call itself reported it. `failure`: it is derived from the failure of
   * the activity. `turn`: the turn made it (denied, expired, resolved, …), and the model reads it in this form.
   * `record`: a fork began with it, so it happened in the turn that was forked, or was given as a what-if.
   */
  origin: 'handler' | 'failure' | 'turn' | 'record';
  /** The use of a grant by which the call ran. */
  grant?: GrantUse;
  /** The roster by which the worker accepted the signatures that let the call run. Absent: there were no signatures. */
  roster?: Roster;
  /**
   * A note for the model about what a person changed or said. The result begins with this text. Absent: a person
   * changed and said nothing.
   */
  note?: string;
}

/** A call was started and nobody knows its outcome. The next event is verifying or in_doubt. */
export interface CallLost extends CallHeader {
  type: 'call_lost';
  tool: string;
  message: string;
  /** The output that is known so far. */
  partial?: string;
  /** The last progress that the call reported. */
  progress?: CallProgress;
  /** The grant by which the call ran, and its use if that is known. */
  grant?: GrantMark & Partial<GrantUse>;
  /** See `CallEnded`. */
  roster?: Roster;
}

/** The tool's own check is asked whether a lost call took effect. */
interface Verifying extends CallHeader {
  type: 'verifying';
}

/** The verdict of the tool's check. After `cannot_tell`, in_doubt follows. */
export interface Verified extends CallHeader {
  type: 'verified';
  outcome: 'happened' | 'did_not' | 'cannot_tell';
  message?: string;
}

/** A lost call waits for a person to resolve it. */
export interface InDoubtOpened extends CallHeader {
  type: 'in_doubt';
  callKey: string;
  tool: string;
  message: string;
  partial?: string;
  /** The last progress that the call reported. */
  progress?: CallProgress;
  summary: string;
  /** The code that ran was not given the key of the call, as the activity of a user behind the plugin. */
  isKeyless?: true;
}

/**
 * A signal with a decision, a resolution or an answer is on record and waits for a worker. Once it is judged, the event
 * `decision`, `resolved` or `answered` follows.
 */
interface SignalRecorded extends EventHeader {
  type: 'signal_recorded';
  signal: 'approval' | 'resolution' | 'answer';
  /** Absent if the payload could not be read. */
  callId?: string;
  approver?: string;
  identity: string;
}

/** How a message arrived. */
export type Delivery = 'update' | 'signal';

/** The verdict on a decision or resolution. */
export type Judgement =
  | { accepted: true }
  | { accepted: false; code: RefusalCode; message?: string; issues?: Issue[] }
  /**
   * The message was judged, but its verdict is no longer in the record, because more than 20 signals arrived together.
   */
  | { accepted: 'unknown' };

/**
 * The reset that applied a message again. The message first arrived in the part of the run that the reset took back.
 */
export interface Reapplied extends EventHeader {
  /** The reason that the operator gave. Temporal's own command line puts the name of the operator before it. */
  reason: string;
}

/** The sender of a decision, a resolution or an answer, as claimed, and how the message arrived. */
export interface Attribution {
  /** The name that was claimed, or `somebody` if no name was claimed. */
  approver: string;
  reason?: string;
  channel: string;
  /** The channel says that the approver was signed in there. */
  authenticated?: true;
  /** The signature that came with the message. The worker decides whether it counts, right before the handler. */
  signature?: VoteSignature;
  door: Delivery;
  /** Temporal's identity of the caller. */
  identity: string;
  decisionId?: string;
  /** Only if a reset applied the message again. */
  reapplied?: Reapplied;
}

/** A decision was judged. An update that is refused leaves nothing in history, so it has no event. */
export interface DecisionMade extends CallHeader, Attribution {
  type: 'decision';
  /** Absent if the payload could not be read. */
  decision?: DecisionKind;
  /** Only with `modified`: the new arguments. */
  arguments?: JsonObject;
  /** Only with `approved`: ids of the accepted hunks. Absent: all hunks. */
  hunks?: string[];
  /** The digest of the request that the person saw, as the client says. Absent if the client does not say it. */
  seenDigest?: string;
  /** Only with `denied`: what the model should do instead. */
  suggestion?: string;
  /**
   * The decision allows something and does not carry the digest of what was seen. It was taken as a decision on the
   * request as it was then.
   */
  unbound?: true;
  /** Somebody has to look at the edited call again: call_prepared and request_opened follow. */
  asksAgain?: true;
  /** The decision counts as a vote, and the call still waits for more votes. */
  stillWaits?: true;
  /** Only if it came by update: the votes that were still needed then. */
  needs?: VotesNeeded;
  judgement: Judgement;
}

/**
 * A resolution was judged. If it is accepted, call_started follows after `run-again`, and call_ended after any other
 * resolution.
 */
export interface Resolved extends CallHeader, Attribution {
  type: 'resolved';
  resolution?: ResolutionKind;
  /** Only with `happened`: the result of the call, if the person knows it. */
  content?: string;
  /** The resolution counts as a vote, and the call still waits for more votes. */
  stillWaits?: true;
  /** Only if it came by update: the votes that were still needed then. */
  needs?: VotesNeeded;
  judgement: Judgement;
}

/** An answer to a question was judged. If it is accepted, call_ended follows with the text that the model reads. */
export interface Answered extends CallHeader, Attribution {
  type: 'answered';
  answer?: AnswerKind;
  /**
   * Only with `answered`: the values that were filled in. Once the answer is accepted, this includes the defaults of
   * the fields that were left out.
   */
  content?: JsonObject;
  judgement: Judgement;
}

/** A call reported its outcome late, after it had been given up. */
export interface OutcomeReported extends CallHeader {
  type: 'outcome_reported';
  generation: number;
  result: ToolResult;
  /**
   * Whether the call was still in doubt when the outcome arrived. If it was not, the outcome is only shown beside the
   * person's resolution.
   */
  settles: boolean;
}

/** The first event of every run of a turn. `continuedFrom` is set if the previous run continued as new. */
export interface TurnStarted extends EventHeader {
  type: 'turn_started';
  turn: string;
  runId: string;
  agent: string;
  prompt: string;
  /** The files that come with the prompt. Absent if there are none. */
  files?: FileRef[];
  taskQueue: string;
  origin?: TurnOrigin;
  /** The calls that led to a child turn, the call of the first turn first. Absent for other turns. */
  lineage?: Ancestor[];
  /** The budget that the turn was started with. For a child turn: its share of the budget that its parent had left. */
  budget?: Budget;
  /** The id of the schedule that started the turn. Absent: no schedule started it. */
  schedule?: string;
  /** The session that the turn belongs to. */
  session?: string;
  continuedFrom?: string;
  /** The messages so far. Set only if the runs in which they arose are not among these events. */
  carried?: TranscriptEntry[];
}

/** What a workflow with a gate is about, in its own words. They stand in place of a prompt. */
interface About extends EventHeader {
  type: 'about';
  prompt: string;
}

/**
 * The turn is a fork. The event comes right after the first turn_started of a fork. If the fork begins with a step
 * from the record, that step and the results that were taken over follow.
 */
export interface Forked extends EventHeader, ForkOrigin {
  type: 'forked';
  /**
   * The messages from which the fork goes on, as the model sees them. Their effects happened in the other turn. Empty
   * if the fork begins with the first step.
   */
  taken: TranscriptEntry[];
}

/** The model is asked for step `step`: after turn_started, and after the last call of the previous step. */
export interface Thinking extends EventHeader {
  type: 'thinking';
  step: number;
  /** Tool outputs before this message of the transcript are dropped. Absent if no outputs are dropped. */
  droppedBefore?: number;
  /** The most bytes to which each output of the previous step was cut. Absent if the outputs are whole. */
  cutTo?: number;
  /**
   * A person's new words, which the model reads from this step on. Absent if there are none, and in the first step.
   */
  words?: string[];
  /** The files that came with each of these words. Absent if there are no files. */
  files?: FileRef[][];
}

/**
 * Asking the model took more than one attempt. The event comes right before `step` or `think_failed`, not while the
 * attempts are made.
 */
export interface ThinkRetried extends EventHeader {
  type: 'think_retried';
  step: number;
  /** The attempt that ended the activity. Counts from 1. */
  attempt: number;
  /** Why the previous attempt failed, if the server still had the reason. */
  lastFailure?: string;
  /** The earlier attempts were bursts. Their finished steps are not on record, and the model was asked again. */
  burst?: true;
}

/** The model failed and is not asked again. The event turn_ended follows. */
interface ThinkFailed extends EventHeader {
  type: 'think_failed';
  step: number;
  message: string;
  /** The type of the failure, such as `auth`. */
  failureType?: string;
}

/**
 * The model replied. Without calls `text` is the answer, and turn_ended follows. Calls of kind `ask` are not requests
 * yet.
 */
export interface Step extends EventHeader {
  type: 'step';
  step: number;
  text: string;
  model: string;
  finishReason: string;
  notes?: ModelNote[];
  /** The name of this reply in the transcript. Absent if the reply could not be read. */
  replyId?: string;
  usage?: Usage;
  /** The budget that the agent allows a turn. */
  budget?: Budget;
  /** What the model knew before the conversation, from the agent's `context`. Only with the first reply of a turn. */
  context?: string;
  calls: ProposedCall[];
  /** Only in a fork, for the step that the fork begins with: no model of this turn wrote the reply. */
  given?: true;
}

/**
 * Someone asked to cancel the turn. Requests are closed. Running calls are cancelled, and the turn waits for their end.
 */
interface CancelRequested extends EventHeader {
  type: 'cancel_requested';
  identity: string;
  reason?: string;
}

/** Someone gave the turn up although calls are in doubt. These calls stay unresolved. */
interface Abandoned extends EventHeader {
  type: 'abandoned';
  approver: string;
  reason?: string;
  identity: string;
}

/**
 * The run ended because its history was long, or because the turn moved to another build. The event turn_started of
 * `newRunId` follows.
 */
interface ContinuedAsNew extends EventHeader {
  type: 'continued_as_new';
  newRunId: string;
  /** The turn moved to another build. Absent: the history of the run was long. */
  moved?: true;
}

/** An operator reset the turn. The events of run `baseRunId` from this event's id on no longer count. */
interface Reset extends EventHeader {
  type: 'reset';
  baseRunId: string;
  newRunId: string;
  reason: string;
}

/**
 * The workflow code failed on the history of this turn, and the task is tried again. A worker has other code, or faulty
 * code.
 */
interface TaskFailed extends EventHeader {
  type: 'task_failed';
  message: string;
}

/** The last event of a turn. */
export interface TurnEnded extends EventHeader {
  type: 'turn_ended';
  status: TurnEnd;
  /** The answer or the last text. Only with `answered`, `step_limit`, `budget` and `loop`. */
  answer?: string;
  /** Why the turn ended. Only with all other ends. */
  error?: { message: string; type?: string };
  result?: Partial<Omit<TurnResult, 'conversation'>>;
}

/**
 * Everything that happens in a turn.
 * The events of one turn: turn_started, (forked,) then for each step thinking → (think_retried) → step and the events
 * of its calls, and at last turn_ended.
 * The events of one call: (call_prepared) → (request_opened → (request_escalated) → decision | request_expired) →
 * call_started → (call_held → call_resumed) → call_ended | decision_void → request_opened | call_lost → (verifying →
 * verified) → (in_doubt → resolved) → call_ended.
 * The events of one question: question_opened → answered | request_expired → call_ended.
 * The screens, replay and audit read these events and nothing else.
 */
export type TurnEvent =
  | TurnStarted
  | About
  | Forked
  | Thinking
  | ThinkRetried
  | ThinkFailed
  | Step
  | CallPrepared
  | RequestOpened
  | SignalRecorded
  | DecisionMade
  | DecisionVoid
  | RequestEscalated
  | RequestExpired
  | QuestionOpened
  | Answered
  | CallStarted
  | CallEnded
  | CallWaits
  | CallHeld
  | CallResumed
  | ChildStarted
  | CallLost
  | Verifying
  | Verified
  | InDoubtOpened
  | Resolved
  | OutcomeReported
  | CancelRequested
  | Abandoned
  | ContinuedAsNew
  | Reset
  | TaskFailed
  | TurnEnded;

/** The event of one type, or of one of several types. */
export type TurnEventOf<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>;

/** The id of the call that an event names. Anybody may have sent it. Undefined for events of the turn. */
export function callIdOf(event: TurnEvent): string | undefined {
  return 'callId' in event ? event.callId : undefined;
}

/** The events that still count. Events that a reset took back are left out, but the event of the reset itself stays. */
export function effectiveEvents(events: readonly TurnEvent[]): TurnEvent[] {
  return events.reduce<TurnEvent[]>((effective, event) => {
    const kept = event.type === 'reset' ? withoutUndone(effective, event.eventId) : effective;
    kept.push(event);
    return kept;
  }, []);
}

/**
 * The events without those that a reset took back: the events of its run from the given event on. Earlier runs stay.
 */
export function withoutUndone(events: readonly TurnEvent[], from: number): TurnEvent[] {
  const start = events.findLastIndex((event) => event.type === 'turn_started');
  return events.filter((event, index) => index < start || event.eventId < from);
}
