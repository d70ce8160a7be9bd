import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../../contract/errors';

const FIRST_MS = 500;
const MOST_MS = 10_000;

/** How to go on while the server does not answer. */
export interface Patience {
  /** Told once when the server is gone, and once when it is back. */
  tell(text: string): void;
  signal: AbortSignal;
}

/** Whether the server did not answer, so that the same question may be answered later. */
export function isAway(error: unknown): error is CountersignError {
  return error instanceof CountersignError && error.code === 'no_server';
}

/** Does something that asks the server, again and again while the server is away. Rejects when the signal aborts. */
export async function insist<T>(act: () => Promise<T>, { tell, signal }: Patience): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const done = await act();
      if (failures > 0) tell('the server is back');
      return done;
    } catch (error) {
      if (!isAway(error)) throw error;
      if (failures === 0) tell('the server does not answer; trying again (Ctrl-C leaves)');
      await delay(Math.min(MOST_MS, FIRST_MS * 2 ** failures), undefined, { signal });
    }
  }
}
