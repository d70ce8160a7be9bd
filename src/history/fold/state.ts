import type { FileRef } from '../../contract/session/files';
import type { InDoubt, PreparedCall, StartedBy } from '../../contract/call';
import type { GrantMark } from '../../contract/policy-rule';
import type { Abandonment } from '../../contract/decision';
import type { ForkOrigin } from '../../contract/fork';
import type { JsonObject } from '../../contract/json';
import type { ToolFailure, ToolResult } from '../../contract/result';
import type { JsonSchema } from '../../contract/tool';
import type { EventOf } from '../decode/events';
import type { CallEnded, EventHeader, Reapplied, RequestOpened } from '../events';

/** The purpose of a scheduled activity. */
export type Purpose =
  | { what: 'think'; step: number; isBurst?: true }
  | { what: 'prepare'; callId: string }
  | { what: 'call'; callId: string; generation: number }
  | { what: 'child'; callId: string }
  | { what: 'held'; callId: string }
  | { what: 'verify'; callId: string; generation: number };

/** One activity that is not closed yet. */
export interface ActivityFold {
  purpose: Purpose;
  scheduledAt: string;
  /** The time of the workflow task that scheduled the activity, as workflow time in ms. */
  scheduledIn: number;
  attempts: number;
  /** The event that scheduled a `think` or a burst. Absent for other activities. */
  think?: EventOf<'activity_scheduled'>;
  /** The event that started a `think` or a burst, until its end is read. */
  started?: EventOf<'activity_started'>;
}

/** One call after the events so far. */
export interface CallFold {
  call: PreparedCall;
  /** The schema of the call's tool, if the record has it. */
  schema?: JsonSchema;
  /** The key of the call. It is known once a memo of its step has named the key. */
  callKey?: string;
  phase: 'proposed' | 'requested' | 'replanning' | 'decided' | 'running' | 'lost' | 'closed' | 'ended';
  generation: number;
  /** The grant by which the call started last. Absent: it started by a decision, or needed none. */
  grant?: GrantMark;
  /** The arguments that run when the call is approved. */
  effective: JsonObject;
  /** Workflow time in ms. Null if the call never expires. */
  deadline: number | null;
  approved: boolean;
  /** The secret of the execution that runs, or is in doubt. */
  secret?: string;
  doubt?: InDoubt;
  /** A person let the call run again after a doubt, or a lost attempt may have run. */
  runsAgain?: true;
  /** Whether a person has been asked about the doubt. */
  asked: boolean;
  /**
   * Why the call was given back: its worker lacked something, or the worker that holds its state did not take it.
   * Absent once the call starts.
   */
  absent?: string;
  /** A pause has held the call, and the call has not started since. */
  isPaused?: true;
  /** Whether the call is on the queue of the worker that holds its state. */
  isHeld?: boolean;
  /** The arguments that the model gave. Set once a person's edit has changed `call`. */
  original?: JsonObject;
  /** The request was escalated, so more people may decide it. */
  isEscalated?: true;
  /** The author and the reason of the last edit. While `replanning`, `editBefore` keeps the previous edit. */
  edit?: NonNullable<RequestOpened['edit']>;
  editBefore?: NonNullable<RequestOpened['edit']>;
  /**
   * While `replanning`: an admin wants people to be asked again. If the call cannot be prepared anew, its edit and
   * votes stay.
   */
  isRenewed?: true;
  /** Since when the request waits, ISO 8601. `isKept`: asking again failed, so it waits as before. */
  since?: string;
  isKept?: true;
  /** The note about what a person changed or said. The model reads it before the result. */
  remark?: string;
  /**
   * Only while `replanning`: whether the making of a new preview is over, because it was made, could not be made, or is
   * not needed.
   */
  planned?: boolean;
  /** Why a person is asked once more: the last edit was not taken, or the decision did not hold. */
  note?: string;
  /** A late outcome that arrived before the loss of the call was known. */
  reported?: ToolResult;
  /** The id of the child turn of the call, once that runs. */
  child?: string;
  /** The roster that let the call of the child turn start. */
  leave?: StartedBy;
  /** When the call's activity was scheduled, ISO 8601. */
  startedAt?: string;
  /** The proof that settles the doubt if no person was first. */
  proof?: ToolResult | ToolFailure;
  /** How the turn closed the call. The text that the model reads comes with the next `think`. */
  closing?: ToolFailure | { content: string };
}

/** A call's activity that failed, until a workflow task has judged it. */
export interface UnjudgedFailure {
  held: CallFold;
  activity: ActivityFold;
  event: EventOf<'activity_failed'>;
}

/** A decision, a resolution or an answer by signal that no workflow task has judged yet. */
export interface PendingSignal {
  signal: 'approval' | 'resolution' | 'answer';
  input: unknown;
  identity: string;
  /**
   * Whether the event of the message exists already. The call that the message allows started before the verdict was
   * written.
   */
  isJudged: boolean;
  reapplied?: Reapplied;
}

/** A decision, a resolution or an answer by update, between its acceptance and its verdict. */
interface PendingUpdate {
  name: string;
  input: unknown;
  identity: string;
  reapplied?: Reapplied;
}

/** Everything that the fold remembers. Only the functions of this folder change it. */
export interface FoldState {
  turn: string;
  runId: string;
  agent: string;
  prompt: string;
  /** The files that came with the prompt. */
  files: FileRef[] | undefined;
  /** What a fork is made from. Absent for other turns. */
  fork?: ForkOrigin;
  step: number;
  /** Why the request for the next step failed at the end of a burst. */
  failed?: string | undefined;
  /** Workflow time in ms of the current workflow task. */
  taskTime: number;
  activities: Map<number, ActivityFold>;
  /** Calls of the current step. */
  calls: Map<string, CallFold>;
  /** Failures of calls that the next workflow task judges, because the time of that task counts. */
  unjudged: UnjudgedFailure[];
  signals: PendingSignal[];
  updates: Map<string, PendingUpdate>;
  /**
   * The reset whose messages are applied again now. The server applies them before it schedules the first workflow
   * task.
   */
  reapplying: Reapplied | undefined;
  /** Somebody asked the turn to move to another build, and nothing has started since. */
  isMoving: boolean;
  /** The person who ended the turn with calls in doubt, and the reason. */
  abandoned?: Abandonment;
  /**
   * Decision ids that were accepted. A decision can come both by update and by signal, and the repeat makes no second
   * event.
   */
  acceptedIds: Set<string>;
}

/** A state without any event. */
export function makeState(): FoldState {
  return {
    turn: '',
    runId: '',
    agent: '',
    prompt: '',
    files: undefined,
    step: 0,
    taskTime: 0,
    activities: new Map(),
    calls: new Map(),
    unjudged: [],
    signals: [],
    updates: new Map(),
    reapplying: undefined,
    isMoving: false,
    acceptedIds: new Set(),
  };
}

/**
 * The fields of an event that every turn event repeats. They come after `type`, because Node 20 takes half a
 * microsecond for each field of a literal that begins with a spread.
 */
export function eventHeader({ eventId, at }: EventHeader): EventHeader {
  return { eventId, at };
}

/** How a call ended, as `endCall` takes it. */
type CallEnding = Pick<CallEnded, 'result' | 'durationMs' | 'attempts' | 'origin' | 'grant' | 'roster'>;

/** Gives a call its result. A call that has a result keeps it. */
export function endCall(head: EventHeader, held: CallFold, ending: CallEnding): CallEnded[] {
  if (held.phase === 'ended') return [];
  held.phase = 'ended';
  const { callId, tool } = held.call;
  const { remark } = held;
  const note = remark !== undefined && ending.result.content.startsWith(remark) ? { note: remark } : {};
  return [{ type: 'call_ended', ...eventHeader(head), callId, tool, ...ending, ...note }];
}
