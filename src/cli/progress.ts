import { every } from '../engine/run';
import type { Screen } from './print/screen';

const SAY_EVERY_MS = 2_000;

/** Notes the progress every two seconds at a terminal. Calls `say` only for that. */
export async function withProgress<T>(
  { isTerminal, note }: Pick<Screen, 'isTerminal' | 'note'>,
  say: () => string,
  work: () => Promise<T>,
): Promise<T> {
  if (!isTerminal) return work();
  const ticker = every(SAY_EVERY_MS, () => note(say()));
  try {
    return await work();
  } finally {
    ticker.stop();
  }
}

/** Notes once what it waits for, if that takes more than two seconds. Also without a terminal, so that a log shows it. */
export async function withWaitingNote<T>(
  { note }: Pick<Screen, 'note'>,
  say: () => string,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => note(say()), SAY_EVERY_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
