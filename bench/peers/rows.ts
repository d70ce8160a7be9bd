import { join } from 'node:path';
import { absolute, median, relative, type Figure } from '../figure';
import { DOCS, writePart } from '../page';
import { machine, short } from '../print';
import { row, table } from '../report';
import type { Kind } from './stacks';

const PAGE = join(DOCS, 'comparison.md');
const MARKS = { start: '<!-- peers -->', end: '<!-- end of peers -->' } as const;

/** One stack, measured. */
export interface Row {
  kind: Kind;
  name: string;
  /** Milliseconds from a decision to the tool that waits for it, each time. */
  decisions: readonly number[];
  /** Of a loop; a stack that only waits for a decision has none. */
  loop?: Loop;
}

/** Milliseconds of a step whose tool gives 1 KiB, in one round. */
export interface LoopRun {
  /** In the first run of the round; the stack rested for seconds before. */
  rested: number;
  /** In the runs right after it. */
  busy: number;
}

/** What a loop of steps costs, and how a run ended whose process was killed. */
export interface Loop {
  runs: readonly LoopRun[];
  /** Milliseconds of the process and of its server, a step. */
  cpuMs: number;
  /** What the disk took for 100 steps of 8 KiB. */
  storedBytes: number;
  /** An approved tool is killed after its effect: how often it had the effect in the end, and how the run ended. */
  effects: number;
  then: string;
}

/** What the rows of a run are held to. All that is compared was measured in turn in the same run. */
export function judgePeers(rows: readonly Row[]): Figure<string>[] {
  const of = (kind: Kind): Row | undefined => rows.find((one) => one.kind === kind);
  const [gate, raw, step] = [of('gate')?.loop, of('raw')?.decisions, of('step')?.decisions];
  const beside = (kind: 'dbos' | 'restate', name: string): Figure<string>[] => {
    const peer = of(kind)?.loop;
    const figure = `step with durability gate, beside ${name}`;
    const busy = { values: busyOf(gate), baselines: busyOf(peer), unit: 'ms' };
    const rested = { values: restedOf(gate), baselines: restedOf(peer), unit: 'ms' };
    return [relative(figure, busy, { most: 0.5 }), relative(`${figure}, after a rest`, rested, {})];
  };
  return [
    ...beside('dbos', 'DBOS'),
    ...beside('restate', 'Restate'),
    absolute('disk for 100 steps of 8 KiB with durability gate', (gate?.storedBytes ?? NaN) / 1e6, {
      ...{ most: 1.2, unit: 'MB' },
    }),
    absolute('decision → tool, over a raw signal', median(step) - median(raw), { most: 10, unit: 'ms' }),
  ];
}

/** The rows, and whether they hold, as tables of Markdown. */
export function peersTables(rows: readonly Row[]): string[] {
  return [...peersTable(rows), '', ...table(judgePeers(rows))];
}

const busyOf = (loop: Loop | undefined) => loop?.runs.map(({ busy }) => busy);
const restedOf = (loop: Loop | undefined) => loop?.runs.map(({ rested }) => rested);

function peersTable(rows: readonly Row[]): string[] {
  const first = median(busyOf(rows[0]?.loop));
  const head = [
    'stack',
    'step',
    'the same after a rest',
    'processor time of a step',
    'disk for 100 steps of 8 KiB',
    'decision → tool',
  ];
  return [
    row([...head, 'kill -9 in an approved tool']),
    row(['---', '---', '---', '---', '---', '---', '---']),
    ...rows.map(({ name, decisions, loop }) => {
      const cells = loop === undefined ? ['-', '-', '-', '-', '-'] : cellsOf(loop, first);
      const [steps, rested, cpu, stored, killed] = cells;
      return row([name, steps, rested, cpu, stored, `${short(median(decisions))} ms`, killed]);
    }),
  ];
}

function cellsOf(loop: Loop, first: number) {
  const { cpuMs, storedBytes, effects, then } = loop;
  const step = median(busyOf(loop));
  return [
    `${short(step)} ms (${short(step / first)}×)`,
    `${short(median(restedOf(loop)))} ms`,
    `${short(cpuMs)} ms`,
    `${short(storedBytes / 1e6)} MB`,
    `${effects === 1 ? 'once' : `${effects} times`}; ${then}`,
  ] as const;
}

/** Puts the tables into the page of the comparison; the words around them stay. */
export function writePeers(rows: readonly Row[], day: string): void {
  writePart(PAGE, MARKS, [`Measured on ${day}: ${machine().join('. ')}.`, '', ...peersTables(rows)]);
}
