import type { InDoubt, PreparedCall } from '../../contract/call';
import type { ForkOrigin } from '../../contract/fork';
import type { JsonObject } from '../../contract/json';
import type { ToolFailure, ToolResult } from '../../contract/result';
import type { JsonSchema } from '../../contract/tool';
import type { CallEnded, EventHead } from '../events';

/** What an activity that was scheduled is for. */
export type Purpose =
  | { what: 'think'; step: number }
  | { what: 'prepare'; callId: string }
  | { what: 'call'; callId: string; generation: number }
  | { what: 'verify'; callId: string; generation: number };

/** One activity that is not closed yet. */
export interface ActivityFold {
  purpose: Purpose;
  scheduledAt: string;
  attempts: number;
}

/** One call as far as the events so far tell. */
export interface CallFold {
  call: PreparedCall;
  /** Of its tool, where the record has it. */
  schema?: JsonSchema;
  /** Known once a memo of its step named the key. */
  callKey?: string;
  phase: 'proposed' | 'requested' | 'replanning' | 'decided' | 'running' | 'lost' | 'closed' | 'ended';
  generation: number;
  /** What runs when it is approved. */
  effective: JsonObject;
  /** Workflow time in ms; null where it never expires. */
  deadline: number | null;
  approved: boolean;
  doubt?: InDoubt;
  /** Whether a person has been asked about the doubt. */
  asked: boolean;
  /** What the model asked for, once a person's edit has changed `call`. */
  original?: JsonObject;
  /** While `replanning`: the new plan is made, or could not be. */
  planned?: boolean;
  /** What settles the doubt if no person was first. */
  proof?: ToolResult | ToolFailure;
  /** How it was closed without a result of its own; the words the model reads come with the next `think`. */
  fate?: ToolFailure | { content: string };
}

/** A decision or resolution by signal that no workflow task has judged yet. */
export interface PendingSignal {
  signal: 'approval' | 'resolution';
  input: unknown;
  identity: string;
  /** Already told, because the call it allows started before the verdict was written. */
  told: boolean;
}

/** A decision or resolution by update, between its acceptance and its verdict. */
export interface PendingUpdate {
  name: string;
  input: unknown;
  identity: string;
}

/** Everything the fold remembers. Changed only by the functions of this folder. */
export interface FoldState {
  turn: string;
  runId: string;
  agent: string;
  prompt: string;
  /** Only of a fork. */
  fork?: ForkOrigin;
  step: number;
  /** Workflow time in ms of the current workflow task. */
  taskTime: number;
  activities: Map<number, ActivityFold>;
  /** Calls of the current step. */
  calls: Map<string, CallFold>;
  signals: PendingSignal[];
  updates: Map<string, PendingUpdate>;
  /** Decision ids that were accepted: a repeat by the other door is not told again. */
  taken: Set<string>;
}

/** A state that knows nothing yet. */
export function makeState(): FoldState {
  return {
    turn: '',
    runId: '',
    agent: '',
    prompt: '',
    step: 0,
    taskTime: 0,
    activities: new Map(),
    calls: new Map(),
    signals: [],
    updates: new Map(),
    taken: new Set(),
  };
}

/**
 * The part of an event that every turn event repeats. It comes after `type`: Node 20 takes half a microsecond for each
 * field of a literal that begins with a spread.
 */
export function headOf({ eventId, at }: EventHead): EventHead {
  return { eventId, at };
}

/** How a call ended, for `endCall`. */
export type Ending = Pick<CallEnded, 'result' | 'durationMs' | 'attempts' | 'origin'>;

/** Gives a call its result; a call that has one keeps it. */
export function endCall(head: EventHead, held: CallFold, ending: Ending): CallEnded[] {
  if (held.phase === 'ended') return [];
  held.phase = 'ended';
  const { callId, tool } = held.call;
  return [{ type: 'call_ended', ...headOf(head), callId, tool, ...ending }];
}
