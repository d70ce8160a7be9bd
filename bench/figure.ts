import type { Client } from '@temporalio/client';
import type { MeasurementName, RowName } from './rows';

/** What every figure is measured on. */
export interface Bench {
  address: string;
  client: Client;
  /** Says what is being measured; to stderr. */
  say(line: string): void;
}

/** The limit of a figure that is only shown. */
export const NO_LIMIT = '-';

/** One measured figure, by the name of its row, beside its baseline. `ratio` is value / baseline; what `limit` is about is said in `unit`. */
export interface Figure<Name extends string = RowName> {
  figure: Name;
  value: number;
  baseline: number | null;
  ratio: number | null;
  /** What the figure is held to, in words: `≤ 1.05×`, or `NO_LIMIT`. */
  limit: string;
  ok: boolean;
  unit: string;
  /** How much of the limit is used up; over 1 it does not hold. */
  share: number;
}

/** One measurement, which may give several figures. */
export interface Measurement {
  name: MeasurementName;
  /** It starts workers of its own, so no other may take what it starts. */
  isAlone?: boolean;
  /** What it sets of a server of its own, `key=value` each. @default the server of all */
  dynamicConfig?: readonly string[];
  run(bench: Bench): Promise<Figure[]>;
}

/** The middle of some numbers. */
export function median(numbers: readonly number[] = []): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

/** Something that is measured again and again; gives what counts, mostly one number. */
export type Subject<Sample = number> = () => Promise<Sample>;

/** Long enough for Node to have compiled what runs often: a worker works for days, not for its first second. */
const WARM_UP_MS = 10_000;

/** Runs things in turn, A B B A A B …, each warmed up before: what drifts meets all alike. */
export async function alternate<Sample = number>(
  rounds: number,
  ...subjects: readonly Subject<Sample>[]
): Promise<Sample[][]> {
  const samples = subjects.map((subject) => ({ subject, taken: new Array<Sample>() }));
  for (const { subject } of samples) await warmUp(subject);
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? samples : [...samples].reverse();
    for (const { subject, taken } of order) taken.push(await subject());
  }
  return samples.map(({ taken }) => taken);
}

async function warmUp(subject: Subject<unknown>): Promise<void> {
  const start = performance.now();
  do await subject();
  while (performance.now() - start < WARM_UP_MS);
}

/** The median of the ratios round by round. */
export function ratioOf(values: readonly number[] = [], baselines: readonly number[] = []): number {
  return median(values.map((value, index) => value / (baselines[index] ?? NaN)));
}

/** Milliseconds that something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A figure whose value is held to a share of its baseline; without `most` and `least` it is only shown. */
export function relative<Name extends string>(
  figure: Name,
  measured: { values: readonly number[] | undefined; baselines: readonly number[] | undefined; unit: string },
  hold: { most?: number; least?: number },
): Figure<Name> {
  const ratio = ratioOf(measured.values, measured.baselines);
  return {
    figure,
    value: median(measured.values),
    baseline: median(measured.baselines),
    ratio,
    limit: limitOf(hold, '×'),
    ...judged(ratio, hold),
    unit: measured.unit,
  };
}

/** A figure that is held to a number of its own. */
export function absolute<Name extends string>(
  figure: Name,
  value: number,
  hold: { most?: number; least?: number; unit: string },
): Figure<Name> {
  return {
    figure,
    value,
    baseline: null,
    ratio: null,
    limit: limitOf(hold, ` ${hold.unit}`),
    ...judged(value, hold),
    unit: hold.unit,
  };
}

function limitOf({ most, least }: { most?: number; least?: number }, unit: string): string {
  if (most !== undefined) return `≤ ${most}${unit}`;
  return least === undefined ? NO_LIMIT : `≥ ${least}${unit}`;
}

function judged(number: number, { most, least = 0 }: { most?: number; least?: number }) {
  const share = Math.max(0, most === undefined ? least / number : number / most);
  return { ok: share <= 1, share };
}
