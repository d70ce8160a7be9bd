import type { FileRef } from '../../contract/session/files';
import type { SealedValues } from '../../contract/secret/sealed';
import type { InDoubt, PreparedCall } from '../../contract/call';
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
  /** Workflow time in ms of the workflow task that scheduled it. */
  scheduledIn: number;
  attempts: number;
  /** The scheduled event of a burst. Absent for other activities. */
  burst?: EventOf<'activity_scheduled'>;
}

/** One call after the events so far. */
export interface CallFold {
  call: PreparedCall;
  /** The schema of its tool, where the record has it. */
  schema?: JsonSchema;
  /** Known once a memo of its step named the key. */
  callKey?: string;
  phase: 'proposed' | 'requested' | 'replanning' | 'decided' | 'running' | 'lost' | 'closed' | 'ended';
  generation: number;
  /** The arguments that run when the call is approved. */
  effective: JsonObject;
  /** Workflow time in ms. Null where it never expires. */
  deadline: number | null;
  approved: boolean;
  /** The secret of the execution that runs, or is in doubt. */
  secret?: string;
  doubt?: InDoubt;
  /** A person let it run again after a doubt, or a lost attempt of it may have run. */
  runsAgain?: true;
  /** Whether a person has been asked about the doubt. */
  asked: boolean;
  /**
   * Why the call was given back: its worker lacked something, or no worker took it where its state is held. Absent once
   * the call starts.
   */
  absent?: string;
  /** A pause has held it, and it has not started since. */
  isPaused?: true;
  /** Whether the call is on the queue of the worker that holds its state. */
  isHeld?: boolean;
  /** The arguments that the model gave. Set once a person's edit has changed `call`. */
  original?: JsonObject;
  /** More people may decide it by now. */
  isEscalated?: true;
  /** The author and the reason of the last edit. While `replanning`, also those of the edit before. */
  edit?: NonNullable<RequestOpened['edit']>;
  editBefore?: NonNullable<RequestOpened['edit']>;
  /** While `replanning`: an admin wants the call asked again. If no new revision is made, its edit and votes stay. */
  isRenewed?: true;
  /** The note that the model reads before the result, about the changes and the reason of a person. */
  remark?: string;
  /** While `replanning`: whether making the new preview is over. It was made, could not be made, or is not needed. */
  planned?: boolean;
  /** Why a person is asked once more: the edit before was not taken, or the decision did not hold. */
  note?: string;
  /** A late outcome that came before the loss was known. */
  reported?: ToolResult;
  /** Its child turn, once it runs. */
  child?: string;
  /** The time when its activity was scheduled, ISO 8601. */
  startedAt?: string;
  /** The proof that settles the doubt if no person was first. */
  proof?: ToolResult | ToolFailure;
  /** How the turn closed the call. The text that the model reads comes with the next `think`. */
  closing?: ToolFailure | { content: string; sealed?: SealedValues };
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
  /** Whether its event exists already, because the call that it allows started before the verdict was written. */
  isJudged: boolean;
  reapplied?: Reapplied;
}

/** A decision, a resolution or an answer by update, between its acceptance and its verdict. */
export interface PendingUpdate {
  name: string;
  input: unknown;
  identity: string;
  reapplied?: Reapplied;
}

/** Everything the fold remembers. Changed only by the functions of this folder. */
export interface FoldState {
  turn: string;
  runId: string;
  agent: string;
  prompt: string;
  /** The files that came with the prompt. */
  files: FileRef[] | undefined;
  /** Where a fork comes from. Absent for other turns. */
  fork?: ForkOrigin;
  step: number;
  /** Why the request for the next step failed at the end of a burst. */
  failed?: string | undefined;
  /** Workflow time in ms of the current workflow task. */
  taskTime: number;
  activities: Map<number, ActivityFold>;
  /** Calls of the current step. */
  calls: Map<string, CallFold>;
  /** Failures of calls that the next workflow task judges, because its time counts. */
  unjudged: UnjudgedFailure[];
  signals: PendingSignal[];
  updates: Map<string, PendingUpdate>;
  /** The reset whose messages come now. The server applies them again before it schedules the first workflow task. */
  reapplying: Reapplied | undefined;
  /** Somebody asked the turn to move to another build, and nothing has started since. */
  isMoving: boolean;
  /** Who ended the turn with calls in doubt, and why. */
  abandoned?: Abandonment;
  /**
   * Decision ids that were accepted. A decision can come both by update and by signal, and the repeat makes no second
   * event.
   */
  acceptedIds: Set<string>;
}

/** A state that knows nothing yet. */
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
 * The part of an event that every turn event repeats. It comes after `type`: Node 20 takes half a microsecond for each
 * field of a literal that begins with a spread.
 */
export function eventHeader({ eventId, at }: EventHeader): EventHeader {
  return { eventId, at };
}

/** How a call ended, for `endCall`. */
export type Ending = Pick<CallEnded, 'result' | 'durationMs' | 'attempts' | 'origin' | 'grant' | 'roster'>;

/** Gives a call its result. A call that has a result keeps it. */
export function endCall(head: EventHeader, held: CallFold, ending: Ending): CallEnded[] {
  if (held.phase === 'ended') return [];
  held.phase = 'ended';
  const { callId, tool } = held.call;
  const { remark } = held;
  const note = remark !== undefined && ending.result.content.startsWith(remark) ? { note: remark } : {};
  return [{ type: 'call_ended', ...eventHeader(head), callId, tool, ...ending, ...note }];
}
