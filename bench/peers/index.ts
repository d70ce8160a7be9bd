import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunningServer } from '../../lib/engine/server-launch';
import { alternate, median } from '../figure';
import { cpuOf } from '../processes';
import type { Loop, LoopRun, Row } from './rows';
import { dbosStack, installPeers, ourStacks, restateStack, type Stack, type StackProcess } from './stacks';

/** Of a run whose steps are timed. */
const STEPS = 100;
const ROUNDS = 12;
/** How many runs of a stack follow one another in each round, after the first of it. */
const IN_A_ROW = 3;
const DECISIONS = 40;
const KIB = 1024;

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
  const all = await Promise.all(stacks.map(async (stack) => ({ stack, one: await stack.start() })));
  const looping = all.filter(({ stack }) => stack.kind !== 'raw');
  say('measuring a step');
  const runs = await alternate(
    ROUNDS,
    ...looping.map(
      ({ one }) =>
        () =>
          stepsOf(one),
    ),
  );
  say('measuring a decision');
  const decisions = await alternate(
    DECISIONS,
    ...all.map(
      ({ one }) =>
        () =>
          asNumber(one.ask('decide')),
    ),
  );
  const rows = all.map(({ stack: { kind, name } }, index): Row => ({
    ...{ kind, name, decisions: decisions[index] ?? [] },
  }));
  for (const [index, { stack, one }] of looping.entries()) {
    say(`measuring what ${stack.name} stores, and what is left of a killed run`);
    const row = rows.find(({ kind }) => kind === stack.kind);
    const loop = await loopOf(stack, { one, folder });
    if (row !== undefined) row.loop = { runs: runs[index] ?? [], ...loop };
  }
  for (const { stack, one } of all) if (stack.kind === 'raw') one.stop();
  return rows;
}

/** What a loop costs beside its time; at the end its process is killed. */
async function loopOf(
  stack: Stack,
  { one, folder }: { one: StackProcess; folder: string },
): Promise<Omit<Loop, 'runs'>> {
  const cpuMs = await cpuOfStep(stack, one);
  const storedBytes = await storedBy(stack, one);
  const left = await killed(stack, { one, file: join(folder, `effects-${stack.kind}`) });
  return { cpuMs, storedBytes, ...left };
}

const asNumber = async (answer: Promise<unknown>): Promise<number> => z.number().parse(await answer);

async function stepOf(one: StackProcess): Promise<number> {
  return (await asNumber(one.ask('run', { steps: STEPS, bytes: KIB }))) / STEPS;
}

/** The stack rested while the others ran: its first run is slower, whatever the stack. */
async function stepsOf(one: StackProcess): Promise<LoopRun> {
  const rested = await stepOf(one);
  const busy = new Array<number>();
  for (let run = 0; run < IN_A_ROW; run++) busy.push(await stepOf(one));
  return { rested, busy: median(busy) };
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
): Promise<Pick<Loop, 'effects' | 'then'>> {
  writeFileSync(file, '');
  one.ask('kill', { file }).catch(() => undefined);
  await one.ended;
  const next = await stack.start();
  const then = String(await next.ask('recover', { file }));
  next.stop();
  const effects = readFileSync(file, 'utf8').split('\n').length - 1;
  return { effects, then };
}
