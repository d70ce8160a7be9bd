/**
 * `npm run bench:scale`: what so many waiting turns cost, on the cluster that `npm run test:cluster` runs on, with two
 * workers. `-- --sizes 1000,10000` says how many; a size that does not fit into `--minutes` is worked out from the
 * smaller ones and marked. `--cached 200` lets each worker keep so many turns in memory. `--write` puts the result into
 * docs/background/scale.md. Exit code 1 where a figure does not hold.
 */
import { loadavg } from 'node:os';
import { endAll } from './ending';
import { allHold, extrapolate, isMeasured, predictSeconds } from './growth';
import { measure } from './measure';
import { readOptions, type ScaleOptions } from './options';
import { headOf, table, writeScale } from './report';
import type { Column } from './rows';

const began = performance.now();
const say = (line: string): void =>
  void process.stderr.write(
    `bench: ${Math.round((performance.now() - began) / 1000)
      .toString()
      .padStart(4)} s  ${line}\n`,
  );

async function run({ sizes, minutes, cached, write }: ScaleOptions): Promise<number> {
  const [load = NaN] = loadavg();
  const facts = { day: new Date().toISOString().slice(0, 10), load, cached };
  const columns: Column[] = [];
  for (const size of sizes) {
    columns.push(await columnOf(size, columns, { seconds: minutes * 60, cached }));
    // After each, so that a run that is ended early leaves what it has.
    if (write) writeScale(columns, facts);
  }
  console.log([headOf(facts), '', ...table(columns)].join('\n'));
  return allHold(columns.filter(isMeasured)) ? 0 : 1;
}

interface Limits {
  /** The time for all sizes. */
  seconds: number;
  cached: number | undefined;
}

async function columnOf(
  size: number,
  columns: readonly Column[],
  { seconds, cached }: Limits,
): Promise<Column> {
  const measured = columns.filter(isMeasured);
  const largest = measured.at(-1);
  const predicted = largest === undefined ? 0 : predictSeconds(largest, size);
  const left = seconds - (performance.now() - began) / 1000;
  const minutes = Math.ceil(predicted / 60);
  if (predicted > left) {
    say(`${size} turns would take ${minutes} minutes and do not fit: extrapolated`);
    return extrapolate(measured, size);
  }
  say(`${size} turns${largest === undefined ? '' : `, some ${minutes} minutes`}`);
  return measure({ size, cached, say: (line) => say(`${size} turns: ${line}`) });
}

/** Ctrl-C and SIGTERM end the run as a failure does. */
const asked = new Promise<never>((_, reject) => {
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => reject(new Error(`ended by ${name}`)));
});

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  try {
    return await Promise.race([run(options), asked]);
  } finally {
    await endAll();
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
