import { parseArgs } from 'node:util';

const USAGE = 'npm run bench:scale -- [--sizes 1000,10000] [--minutes 60] [--cached 200] [--write]';
/** Below this there are no twenty decisions of which each is one of many. */
const LEAST = 100;
const MOST = 1_000_000;
const DAY_MINUTES = 24 * 60;

/** What a run measures. */
export interface ScaleOptions {
  /** So many turns wait, in rising order. */
  sizes: readonly number[];
  /** A size that would take longer than what is left of these is not run. */
  minutes: number;
  /** So many turns stay in the memory of each worker. Absent: as many as the SDK works out for the machine. */
  cached?: number;
  /** The result goes into its page; with `cached` into a table of its own. */
  write: boolean;
}

/** Reads the arguments. @throws Error that says what is wrong with them, and what they look like. */
export function readOptions(args: readonly string[]): ScaleOptions {
  const { sizes, minutes, cached, write } = parse(args);
  const read = { sizes: readSizes(sizes), minutes: whole(minutes, '--minutes', [1, DAY_MINUTES]), write };
  return cached === undefined ? read : { ...read, cached: whole(cached, '--cached', [1, MOST]) };
}

function parse(args: readonly string[]): { sizes: string; minutes: string; cached?: string; write: boolean } {
  const options = {
    sizes: { type: 'string', default: '1000,10000,100000' },
    minutes: { type: 'string', default: '60' },
    cached: { type: 'string' },
    write: { type: 'boolean', default: false },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw refused(error instanceof Error ? error.message : String(error));
  }
}

function readSizes(text: string): number[] {
  const sizes = text.split(',').map((size) => whole(size, '--sizes', [LEAST, MOST]));
  if (new Set(sizes).size < sizes.length) throw refused(`--sizes names a size twice: ${text}`);
  return sizes.sort((a, b) => a - b);
}

function whole(text: string, flag: string, [least, most]: readonly [number, number]): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= most) return number;
  throw refused(`${flag} takes whole numbers from ${least} to ${most}, and not '${text}'`);
}

function refused(what: string): Error {
  return new Error(`${what}\nusage: ${USAGE}`);
}
