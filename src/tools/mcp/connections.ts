import { LRUCache } from 'lru-cache';
import type { McpCall, McpConnection } from './connection';

/** The connections of a worker to one server: one for each state that calls share, or one for all calls. */
export interface McpConnections {
  /**
   * Calls by the connection of that state. `onLost`: earlier calls had another connection, which is gone.
   *
   * @throws as McpConnection does.
   */
  call(key: string, call: McpCall, onLost: () => void): Promise<unknown>;
  close(): Promise<void>;
}

/** One connection. */
interface Held {
  connection: McpConnection;
  busy: number;
  idle?: NodeJS.Timeout;
}

/** A connection without a call for this long is closed. */
const IDLE_MS = 60 * 60 * 1000;
/** As many connections of one server are kept; where more are needed, the one that was used longest ago is closed. */
const MOST = 32;
/** As many states are remembered whose connections were closed, to say so. */
const MOST_CLOSED = 1000;

/** @param limits for tests. */
export function createConnections(
  connect: () => McpConnection,
  { idleMs = IDLE_MS, most = MOST }: { idleMs?: number; most?: number } = {},
): McpConnections {
  // In the order of their last use.
  const held = new Map<string, Held>();
  const closed = new LRUCache<string, true>({ max: MOST_CLOSED });
  const drop = async (key: string, one: Held): Promise<void> => {
    clearTimeout(one.idle);
    held.delete(key);
    closed.set(key, true);
    await one.connection.close();
  };
  const take = (key: string, onLost: () => void): Held => {
    const one = held.get(key) ?? { connection: connect(), busy: 0 };
    clearTimeout(one.idle);
    if (closed.delete(key)) onLost();
    held.delete(key);
    held.set(key, one);
    one.busy += 1;
    const oldest = [...held].find(([, { busy }]) => busy === 0);
    if (held.size > most && oldest !== undefined) void drop(...oldest);
    return one;
  };
  const release = (key: string, one: Held): void => {
    one.busy -= 1;
    if (one.busy === 0) one.idle = setTimeout(() => void drop(key, one), idleMs).unref();
  };
  return {
    call: async (key, call, onLost) => {
      const one = take(key, onLost);
      try {
        return await one.connection.call({ ...call, onLost });
      } finally {
        release(key, one);
      }
    },
    close: async () => {
      for (const { idle } of held.values()) clearTimeout(idle);
      await Promise.all([...held.values()].map(({ connection }) => connection.close()));
    },
  };
}
