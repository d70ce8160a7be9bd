import type { JsonObject } from './json';
import { HOLDER_QUEUE } from './names';

/** `safe` runs; `cautious` is logged, then runs; `dangerous` waits for a decision. */
export const SAFETIES = ['safe', 'cautious', 'dangerous'] as const;
export type Safety = (typeof SAFETIES)[number];

/**
 * What a second run would do. `pure`: nothing, it may run any number of times; `idempotent`: nothing more, if it gets
 * the same key; `unsafe`: harm, so it is never run twice by us.
 */
export const EFFECTS = ['pure', 'idempotent', 'unsafe'] as const;
export type Effect = (typeof EFFECTS)[number];

/**
 * How long what a tool keeps in memory between its calls lives. `call`: it keeps nothing; `turn`: as long as the turn;
 * `session`: as long as the session, or the turn where that is of none; `worker`: as long as the worker, and all its turns
 * share it.
 */
export const STATES = ['call', 'turn', 'session', 'worker'] as const;
export type StateScope = (typeof STATES)[number];

/** How the ready calls of a step are started; see DESIGN of order in docs. */
export const ORDERS = ['lane', 'strict', 'parallel'] as const;
export type Order = (typeof ORDERS)[number];

/** A JSON Schema (2020-12) whose root is an object. */
export type JsonSchema = JsonObject;

/** Retry of lost attempts and transport errors; never used for unsafe calls. Times in milliseconds. */
export interface RetryOptions {
  maximumAttempts: number;
  initialIntervalMs: number;
  backoffCoefficient: number;
  maximumIntervalMs?: number;
}

/** One thing wrong with arguments: where (`/edits/0/old_text`, empty for the root) and what. */
export interface Issue {
  path: string;
  message: string;
}

/** Which calls share the state that a tool keeps in memory. */
export interface StateSettings {
  scope: Exclude<StateScope, 'call'>;
  /** Tools with the same scope, group and task queue share it. */
  group: string;
}

interface Holding {
  state?: StateSettings;
  taskQueue?: string;
}

/** What names the calls of a turn that share state; undefined for a call that shares none. */
export function stateKeyOf({ state, taskQueue = '' }: Holding): string | undefined {
  return state && JSON.stringify([state.scope, state.group, taskQueue]);
}

/** Whether a key of `stateKeyOf` is of state that the turns of a session share. */
export function isSessionState(key: string): boolean {
  return key.startsWith('["session",');
}

/** The worker that holds state of a turn. */
export interface StateHolder {
  /** The queue of this worker alone. */
  queue: string;
  /** Idempotency key of the call that began the state. */
  begunBy: string;
  /** The run of the turn in which it began: a run that a reset made begins anew. */
  runId: string;
}

/** What a turn knows of the state that calls share. Neither field: no call has used it yet. */
export interface KnownState {
  /** The worker whose queue this call is on. */
  holder?: StateHolder;
  /** Earlier calls used it, and the worker that held it is gone. */
  lost?: true;
}

/** What the worker hears of the state of a call. */
export interface PlacedState extends KnownState {
  /** The session whose state it is. Absent: it is that of the turn, or of the worker. */
  session?: string;
}

/** What became of the state that a call shares with others. Absent: its handler was not called, or it shares none. */
export interface UsedState {
  /** Who holds it now. Null: the handler was called, and nobody knows where. */
  holder?: StateHolder | null;
}

const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 1000 };

/** A StateHolder. */
export const HOLDER: JsonSchema = {
  type: 'object',
  properties: { queue: { ...NAME, pattern: `^${HOLDER_QUEUE}` }, begunBy: NAME, runId: NAME },
  required: ['queue', 'begunBy', 'runId'],
};

/** What is known of the state that calls share, by `stateKeyOf`: pairs of a key and a KnownState. */
export const CARRIED_STATES: JsonSchema = {
  type: 'array',
  maxItems: 1000,
  items: {
    type: 'array',
    minItems: 2,
    prefixItems: [
      { type: 'string' },
      { type: 'object', properties: { holder: HOLDER, lost: { const: true } } },
    ],
  },
};
