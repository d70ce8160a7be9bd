import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunningServer } from '../../lib/engine/server-launch';
import { alternate, median } from '../figure';
import { DOCS, writePart } from '../page';
import { machine, short } from '../print';
import { cpuOf } from '../processes';
import { dbosStack, installPeers, ourStacks, restateStack, type Stack, type StackProcess } from './stacks';

const PAGE = join(DOCS, 'comparison.md');
const MARKS = { start: '<!-- peers -->', end: '<!-- end of peers -->' } as const;

/** Of a run whose steps are timed. */
const STEPS = 100;
const ROUNDS = 12;
const DECISIONS = 40;
const KIB = 1024;

/** One stack, measured. */
interface Row {
  name: string;
  /** Of a step whose tool gives 1 KiB. */
  stepMs: number;
  /** Of the process and of its server. */
  cpuMs: number;
  /** What the disk took for 100 steps of 8 KiB. */
  storedBytes: number;
  /** From a decision to the tool that waits for it. */
  decideMs: number;
  /** An approved tool is killed after its effect: how often it had the effect in the end, and how the run ended. */
  effects: number;
  then: string;
}

/** What the peers are compared with: the server of ours, and where it keeps its data. */
export interface PeersPlace {
  server: RunningServer;
  dbFile: string;
  say(line: string): void;
}

/** Installs DBOS and Restate, and measures the same loop on each of them and on ours, in turn. */
export async function measurePeers({ server, dbFile, say }: PeersPlace): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-peers-'));
  // PostgreSQL runs as another user where this runs as root.
  chmodSync(folder, 0o711);
  const stacks: Stack[] = [];
  try {
    say('installing DBOS and Restate');
    installPeers(folder);
    stacks.push(...ourStacks({ address: server.address, pid: server.pid, dbFile, folder }));
    stacks.push(await dbosStack(folder), await restateStack(folder));
    return await measureStacks(stacks, { folder, say });
  } finally {
    await Promise.all(stacks.map((stack) => stack.stop()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function measureStacks(
  stacks: readonly Stack[],
  { folder, say }: { folder: string; say: PeersPlace['say'] },
): Promise<Row[]> {
  const processes = await Promise.all(stacks.map((stack) => stack.start()));
  say('measuring a step');
  const runs = await alternate(ROUNDS, ...processes.map((one) => () => stepOf(one)));
  say('measuring a decision');
  const decisions = await alternate(DECISIONS, ...processes.map((one) => () => asNumber(one.ask('decide'))));
  const rows: Row[] = [];
  for (const [index, stack] of stacks.entries()) {
    const one = processes[index];
    if (one === undefined) continue;
    say(`measuring what ${stack.name} stores, and what is left of a killed run`);
    const cpuMs = await cpuOfStep(stack, one);
    const storedBytes = await storedBy(stack, one);
    const effects = await killed(stack, { one, file: join(folder, `effects-${stack.name}`) });
    const [stepMs, decideMs] = [median(runs[index]), median(decisions[index])];
    rows.push({ name: stack.name, stepMs, cpuMs, storedBytes, decideMs, ...effects });
  }
  return rows;
}

const asNumber = async (answer: Promise<unknown>): Promise<number> => z.number().parse(await answer);

async function stepOf(one: StackProcess): Promise<number> {
  return (await asNumber(one.ask('run', { steps: STEPS, bytes: KIB }))) / STEPS;
}

async function cpuOfStep({ pid }: Stack, one: StackProcess): Promise<number> {
  const used = async (): Promise<number> => (await asNumber(one.ask('cpu'))) + cpuOf(pid);
  const before = await used();
  for (let run = 0; run < 3; run++) await stepOf(one);
  return ((await used()) - before) / (3 * STEPS);
}

async function storedBy(stack: Stack, one: StackProcess): Promise<number> {
  const before = stack.stored();
  for (let run = 0; run < 5; run++) await one.ask('run', { steps: STEPS, bytes: 8 * KIB });
  return (stack.stored() - before) / 5;
}

/** An approved tool has its effect, and its process is killed before it can say so; another one goes on. */
async function killed(
  stack: Stack,
  { one, file }: { one: StackProcess; file: string },
): Promise<Pick<Row, 'effects' | 'then'>> {
  writeFileSync(file, '');
  one.ask('kill', { file }).catch(() => undefined);
  await one.ended;
  const next = await stack.start();
  const then = String(await next.ask('recover', { file }));
  next.stop();
  const effects = readFileSync(file, 'utf8').split('\n').length - 1;
  return { effects, then };
}

/** The rows as a table of Markdown. */
export function peersTable(rows: readonly Row[]): string[] {
  const [ours] = rows;
  const cells = rows.map((row) => [
    row.name,
    `${short(row.stepMs)} ms (${short(row.stepMs / (ours?.stepMs ?? NaN))}×)`,
    `${short(row.cpuMs)} ms`,
    `${short(row.storedBytes / 1e6)} MB`,
    `${short(row.decideMs)} ms`,
    `${row.effects === 1 ? 'once' : `${row.effects} times`}; ${row.then}`,
  ]);
  const head = [
    'stack',
    'step',
    'processor time of a step',
    'disk for 100 steps of 8 KiB',
    'decision → tool',
  ];
  return [
    line([...head, 'kill -9 in an approved tool']),
    line(['---', '---', '---', '---', '---', '---']),
    ...cells.map(line),
  ];
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Puts the table into the page of the comparison; the words around it stay. */
export function writePeers(rows: readonly Row[], day: string): void {
  writePart(PAGE, MARKS, [`Measured on ${day}: ${machine().join('. ')}.`, '', ...peersTable(rows)]);
}
