import { every } from '../engine/ticker';
import type { Screen } from './print/screen';

const SAY_EVERY_MS = 2_000;

/** Says every two seconds how far something is, where a person reads along. `say` is asked only then. */
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
