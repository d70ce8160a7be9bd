import type { FileRef } from '../contract/session/files';
import type { ForkOrigin } from '../contract/fork';
import type { TranscriptEntry } from '../contract/transcript';
import type { ModelNote } from '../contract/think';
import type { Usage } from '../contract/spending/usage';
import type { TurnResult } from '../contract/turn';
import type { TurnEnd } from '../contract/turn-states';
import type { TurnOrigin, Ancestor } from '../contract/call';
import type { Budget } from '../contract/spending/budget';
import type {
  Answered,
  CallEnded,
  CallHeld,
  CallLost,
  CallPrepared,
  CallResumed,
  CallStarted,
  CallWaits,
  ChildStarted,
  DecisionMade,
  DecisionVoid,
  EventHeader,
  InDoubtOpened,
  OutcomeReported,
  ProposedCall,
  QuestionOpened,
  RequestEscalated,
  RequestExpired,
  RequestOpened,
  Resolved,
  SignalRecorded,
  Verified,
  Verifying,
} from './call-events';

export type * from './call-events';

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
export interface About extends EventHeader {
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
