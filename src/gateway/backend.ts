import { setTimeout as delay } from 'node:timers/promises';
import type { Countersign } from '../client';
import { CountersignError } from '../contract/errors';
import type { ToolResult } from '../contract/result';
import type { CallPlace, ClientCall } from './call-id';

/** A connection to Temporal with the worker of the gateway. */
export interface Link {
  client: Countersign;
  /** Rejects or resolves when the connection or its worker is lost. */
  lost: Promise<unknown>;
  close(): Promise<void>;
}

/** How a call ended. `failed` and `cancelled`: there is no result of its tool. */
export type CallEnd =
  | { kind: 'result'; result: ToolResult }
  | { kind: 'cancelled'; message: string }
  | { kind: 'failed'; message: string };

/** A call that is on record. */
export interface TakenCall extends Pick<CallPlace, 'isNamed'> {
  /** Names this call and no later one. */
  id: string;
}

/** The durable side of a gateway: every call in it is a turn. It connects when it is first needed. */
export type Backend = ReturnType<typeof openBackend>;

/** What a backend works with. */
interface BackendParts {
  agent: string;
  taskQueue: string;
  open(): Promise<Link>;
  warn(line: string): void;
}

const AGAIN_MS = 2_000;

/** The time that a call waits for Temporal to be there, in milliseconds. The client may wait no longer than a minute in all. */
const LINK_MS = 20_000;

/**
 * Connects in the background, and again whenever the connection or the worker is lost. A call that comes before the first
 * attempt has ended waits for it.
 */
export function openBackend(parts: BackendParts) {
  const stop = new AbortController();
  const { link, over } = keepOpen(parts, stop.signal);
  // Loaded when a call needs it: the list of tools does not wait for the client of Temporal.
  const turns = () => import('./turns.js');
  return {
    /** Connects now, so that the first call need not wait for it. */
    begin: (): void => void link().catch(() => undefined),
    /**
     * Starts the turn of a call, or finds the turn that the call has already.
     *
     * @throws CountersignError `no_server` and the like; `exists` if the client's id is of another call.
     */
    start: async (call: ClientCall) => (await turns()).takeCall((await link()).client, call, parts),
    /** Waits for the end of a call. Rejects when the signal aborts. */
    end: async (id: string, signal: AbortSignal) => {
      const { endOfCall, isPassing } = await turns();
      for (;;) {
        try {
          const { client } = await link();
          return await client.client.withAbortSignal(signal, () => endOfCall(client, id));
        } catch (error) {
          if (signal.aborted || stop.signal.aborted || !isPassing(error)) throw error;
          await delay(AGAIN_MS, undefined, { signal });
        }
      }
    },
    /** The state of a call of this person. Undefined: this person has no such call. */
    stateOf: async (id: string, who: string) => (await turns()).stateOfCall((await link()).client, id, who),
    cancel: async (id: string, reason: string) =>
      (await turns()).cancelCall((await link()).client, id, reason),
    close: async () => {
      stop.abort();
      await over();
    },
  };
}

/** Opens a connection at the first use, and keeps it. `over` resolves when it is closed after the signal has aborted. */
function keepOpen(
  { open, warn }: BackendParts,
  signal: AbortSignal,
): { link(): Promise<Link>; over(): Promise<void> } {
  let current: Link | undefined;
  let why: CountersignError | undefined;
  let tried: () => void = () => undefined;
  const firstTry = new Promise<void>((resolve) => (tried = resolve));
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const keep = async () => {
    while (!signal.aborted) {
      try {
        current = await open();
        tried();
        await Promise.race([stopped, current.lost]);
        if (!signal.aborted) throw new CountersignError('no_server', 'the connection to Temporal is lost');
      } catch (error) {
        const { toCountersignError } = await import('../history/server-errors.js');
        const found = toCountersignError(error, 'reaching Temporal');
        if (found.message !== why?.message) warn(`calls that need a record fail: ${found.message}`);
        why = found;
        tried();
      }
      const last = current;
      current = undefined;
      await last?.close().catch(() => undefined);
      await Promise.race([stopped, delay(AGAIN_MS, undefined, { ref: false })]);
    }
  };
  let keeping: Promise<void> | undefined;
  return {
    link: async () => {
      keeping ??= keep();
      await Promise.race([firstTry, stopped, delay(LINK_MS, undefined, { ref: false })]);
      if (current !== undefined) return current;
      throw why ?? new CountersignError('no_server', 'Temporal is still being started', 'try again soon');
    },
    over: async () => keeping,
  };
}
