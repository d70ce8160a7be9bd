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

/** Says once what is waited for, where that takes two seconds; also where nobody reads along, as a log should tell. */
export async function withPatience<T>(
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
