import type { JsonObject } from './json';
import { HOLDER_QUEUE } from './names';
import {
  integer,
  only,
  list,
  nullable,
  number,
  object,
  type Of,
  oneOf,
  pair,
  refined,
  text,
} from './schema/shape';

/** The longest time that is read from another process: some 31 years, in milliseconds. */
export const LONGEST_READ = 1e12;

/** `safe` runs. `cautious` is logged, then runs. `dangerous` waits for a decision. */
export const SAFETIES = ['safe', 'cautious', 'dangerous'] as const;
export type Safety = (typeof SAFETIES)[number];

/**
 * The effect of running a call a second time. `pure`: nothing, so the call may run any number of times. `idempotent`:
 * nothing more, if the call gets the same key. `unsafe`: harm, so we never run it twice.
 */
export const EFFECTS = ['pure', 'idempotent', 'unsafe'] as const;
export type Effect = (typeof EFFECTS)[number];

/**
 * The time that a tool's state stays in memory between its calls. `call`: the tool keeps no state. `turn`: as long as
 * the turn. `session`: as long as the session, or as the turn if there is no session. `worker`: as long as the
 * worker, and all its turns share the state.
 */
export const STATES = ['call', 'turn', 'session', 'worker'] as const;
export type StateScope = (typeof STATES)[number];

/** The order in which the ready calls of a step are started. `nextToStart` says what each value means. */
export const ORDERS = ['lane', 'strict', 'parallel'] as const;
export type Order = (typeof ORDERS)[number];

/** A JSON Schema (2020-12) whose root is an object. */
export type JsonSchema = JsonObject;

/** The schema of a name or an id of ours. */
export const ANY_NAME = text({ minLength: 1, maxLength: 1000 });

/** The schema of a time in milliseconds that a timer can take. */
export const MS = number({ minimum: 1, maximum: LONGEST_READ });

export const RETRY_OPTIONS = object(
  {
    maximumAttempts: integer({ minimum: 1, maximum: 1e6 }),
    initialIntervalMs: MS,
    backoffCoefficient: number({ minimum: 1, maximum: 1e6 }),
  },
  { maximumIntervalMs: MS },
);

/** Retry of lost attempts and transport errors. Never used for unsafe calls. Times in milliseconds. */
export interface RetryOptions extends Of<typeof RETRY_OPTIONS> {}

/** One problem of arguments: its place (`/edits/0/old_text`, empty for the root) and a message. */
export interface Issue {
  path: string;
  message: string;
}

export const STATE_SETTINGS = object({
  scope: oneOf(['turn', 'session', 'worker'] satisfies StateScope[]),
  /** Tools with the same scope, group and task queue share the state. */
  group: ANY_NAME,
});

/** Which calls share the state that a tool keeps in memory. */
interface StateSettings extends Of<typeof STATE_SETTINGS> {}

interface Holding {
  state?: StateSettings;
  taskQueue?: string;
}

/** The key of the state that calls of a turn share. Undefined for a call that shares none. */
export function stateKeyOf({ state, taskQueue = '' }: Holding): string | undefined {
  return state && JSON.stringify([state.scope, state.group, taskQueue]);
}

/** Whether a key of `stateKeyOf` names state that the turns of a session share. */
export function isSessionState(key: string): boolean {
  return key.startsWith('["session",');
}

/**
 * The schema of a task queue's name. The server takes at most 1,000 bytes and keeps one prefix for itself, and UTF-8
 * has no half characters. A command with another name would fail the workflow task each time.
 */
export const QUEUE = text({
  pattern: '^[^\\p{Cs}]+$',
  not: { pattern: '^/_sys/' },
  anyOf: [{ maxLength: 250 }, { maxLength: 1000, pattern: '^[ -~]*$' }],
});

const HOLDER = object({
  /** The queue that only this worker polls. */
  queue: refined(QUEUE, { allOf: [{ pattern: `^${HOLDER_QUEUE}` }] }),
  /** Idempotency key of the call that began the state. */
  begunBy: ANY_NAME,
  /** The run of the turn in which the state began. A run that a reset made begins with new state. */
  runId: ANY_NAME,
});

/** The worker that holds state of a turn. */
export interface StateHolder extends Of<typeof HOLDER> {}

const KNOWN_STATE = object(
  {},
  {
    /** The worker whose queue this call is on. */
    holder: HOLDER,
    /** Earlier calls used the state, and the worker that held it is gone. */
    lost: only(true),
  },
);

/** The knowledge of a turn about the state that calls share. Without both fields, no call has used the state yet. */
export interface KnownState extends Of<typeof KNOWN_STATE> {}

/** The facts that the worker gets about the state of a call. */
export interface PlacedState extends KnownState {
  /** The session that the state belongs to. Absent: the state belongs to the turn, or to the worker. */
  session?: string;
}

export const USED_STATE = {
  /** Who holds the state now. Null: the handler was called, and the place of its state is not known. */
  holder: nullable(HOLDER),
};

/**
 * The place of the state that a call shares with others. Absent: the handler was not called, or the call shares none.
 */
export interface UsedState {
  holder?: StateHolder | null;
}

/** The schema of the knowledge about shared state: pairs of a key of `stateKeyOf` and a KnownState. */
export const CARRIED_STATES = list(pair(text(), KNOWN_STATE), { maxItems: 1000 });
