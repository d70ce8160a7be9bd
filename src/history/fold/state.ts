import type { FileRef } from '../../contract/session/files';
import type { AskAgain, PreparedCall, StartedBy } from '../../contract/call';
import type { ForkOrigin } from '../../contract/fork';
import { type Approvals, makeApprovals } from '../../lifecycle/state';
import type { EventOf } from '../decode/events';
import type { CallEnded, EventHeader, Reapplied } from '../events';

/** The purpose of a scheduled activity. */
export type Purpose =
  | { what: 'think'; step: number; isBurst?: true }
  | { what: 'prepare'; callId: string; isGate?: true }
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

/** What history shows of one call, beside its life in `approvals`. */
export interface CallFold {
  /** The call as its step or its first preparation made it. */
  call: PreparedCall;
  /** The key of the call, once it has started. */
  callKey?: string;
  /** The wait for a person that the events have shown. */
  shown?: 'request' | 'doubt';
  /** Since when the request waits, ISO 8601. `isKept`: asking again failed, so it waits as before. */
  since?: string;
  isKept?: true;
  /** Until when the request waits, ISO 8601. Null: it never expires. */
  deadline?: string | null;
  /** The call was in doubt. */
  wasLost?: true;
  /** The proof that settles the doubt if no person was first. A late outcome may come before the doubt. */
  proof?: Pick<CallEnded, 'result' | 'origin'>;
  /** Why the call was given back: its worker lacked something, or the worker that holds its state did not take it. */
  absent?: string;
  /** The code of its activity was not given its key. */
  isKeyless?: true;
  /** Whether the call is on the queue of the worker that holds its state. */
  isHeld?: boolean;
  /** The id of the child turn of the call, once that runs. */
  child?: string;
  /** The roster that let the call of the child turn start. */
  leave?: StartedBy;
  /** When the call's activity was scheduled, ISO 8601. */
  startedAt?: string;
  /** The events have shown its result. */
  hasEnded: boolean;
}

/** A call's activity that failed, until a workflow task has judged it. */
export interface UnjudgedFailure {
  held: CallFold;
  activity: ActivityFold;
  event: EventOf<'activity_failed'>;
}

/** A decision that does not hold, as a worker says, until a workflow task has judged that. */
export interface UnjudgedVoid {
  held: CallFold;
  said: AskAgain;
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
  failed?: string;
  /** Workflow time in ms of the current workflow task. */
  taskTime: number;
  activities: Map<number, ActivityFold>;
  /** Calls of the current step. */
  calls: Map<string, CallFold>;
  /** The lives of those calls that may run. */
  approvals: Approvals;
  /** What the next workflow task judges: its time counts, and that its turn is cancelled by then. */
  unjudged: (UnjudgedFailure | UnjudgedVoid)[];
  signals: PendingSignal[];
  updates: Map<string, PendingUpdate>;
  /**
   * The reset whose messages are applied again now. The server applies them before it schedules the first workflow
   * task.
   */
  reapplying: Reapplied | undefined;
  /** Somebody asked the turn to move to another build, and nothing has started since. */
  isMoving: boolean;
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
    approvals: makeApprovals(),
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
