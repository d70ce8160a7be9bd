/**
 * `npm run bench`: each figure beside its baseline, measured in the same run, alternating, on a server of its own.
 * `-- --json` prints one line a figure; `-- --only step,inbox` measures those; `-- --write` puts their rows into
 * docs/background/performance.md. `-- --peers` compares with DBOS and Restate instead, which it installs into a folder
 * of its own; with `--write` into docs/background/comparison.md. Exit code 1 where a figure does not hold.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { resolveEngine } from '../lib/engine/resolve';
import { startServer } from '../lib/engine/server';
import type { RunningServer } from '../lib/engine/server-launch';
import type { Figure, Measurement } from './figure';
import { audit } from './figures/audit';
import { authority } from './figures/authority';
import { burst } from './figures/burst';
import { burstEnd } from './figures/burst-end';
import { decision } from './figures/decision';
import { webInbox } from './figures/web-inbox';
import { bigFlood, flood } from './figures/flood';
import { gate } from './figures/gate';
import { gateway } from './figures/gateway';
import { grants } from './figures/grants';
import { history } from './figures/history';
import { inbox } from './figures/inbox';
import { lisp } from './figures/lisp';
import { mcp } from './figures/mcp';
import { observed } from './figures/observed';
import { pause } from './figures/pause';
import { plugin } from './figures/plugin';
import { policy } from './figures/policy';
import { rate } from './figures/rate';
import { recovery } from './figures/recovery';
import { replay, replayBatch } from './figures/replay';
import { reset } from './figures/reset';
import { sandbox } from './figures/sandbox';
import { longSession, session } from './figures/session';
import { show } from './figures/show';
import { start } from './figures/start';
import { step, throughput } from './figures/step';
import { streaming } from './figures/streaming';
import { timeline } from './figures/timeline';
import { waiting } from './figures/waiting';
import { measurePeers } from './peers';
import { judgePeers, peersTables, writePeers } from './peers/rows';
import { printFigure, printHead } from './print';
import { writeReport } from './report';
import { ROWS } from './rows';
import { startBaseline, startOurs } from './subjects';

// The inbox last: the ten thousand turns that it leaves would slow down whatever came after.
const MEASUREMENTS: readonly Measurement[] = [
  start,
  step,
  throughput,
  observed,
  rate,
  history,
  gate,
  decision,
  replay,
  replayBatch,
  timeline,
  show,
  audit,
  policy,
  authority,
  pause,
  burstEnd,
  lisp,
  mcp,
  gateway,
  plugin,
  sandbox,
  webInbox,
  streaming,
  session,
  longSession,
  flood,
  bigFlood,
  burst,
  grants,
  reset,
  recovery,
  waiting,
  inbox,
];

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    peers: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

function chosen(): readonly Measurement[] {
  if (values.only === undefined) return MEASUREMENTS;
  const names = values.only.split(',');
  const found = MEASUREMENTS.filter(({ name }) => names.includes(name));
  if (found.length === names.length) return found;
  throw new Error(`--only takes ${MEASUREMENTS.map(({ name }) => name).join(',')}`);
}

async function withServer<T>(
  use: (server: RunningServer, dbFile: string) => Promise<T>,
  dynamicConfig: readonly string[] = [],
): Promise<T> {
  const engine = await resolveEngine({ ...process.env, TEMPORAL_ADDRESS: '' }, { progress: say });
  if (engine.kind !== 'binary')
    throw new Error('the bench starts a server of its own; it needs the temporal command line');
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const dbFile = join(directory, 'bench.db');
  const server = await startServer({
    binary: engine.binary,
    dbFile,
    headless: true,
    dynamicConfig,
  });
  try {
    return await use(server, dbFile);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureAll(measurements: readonly Measurement[], server: RunningServer): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const measurement of measurements) {
    say(`measuring ${measurement.name}`);
    const { dynamicConfig } = measurement;
    const found =
      dynamicConfig === undefined
        ? await measure(measurement, server)
        : await withServer((own) => measure(measurement, own), dynamicConfig);
    for (const figure of found) printFigure(figure, values.json);
    sayMissing(measurement, found);
    figures.push(...found);
    // After each, so that a run that is ended early leaves what it has.
    if (values.write) writeReport(figures, new Date().toISOString().slice(0, 10));
  }
  return figures;
}

/** A row that nobody gives any more would stay on the page for good. */
function sayMissing({ name }: Measurement, found: readonly Figure[]): void {
  for (const row of ROWS[name])
    if (!found.some(({ figure }) => figure === row)) say(`${name} did not give the row "${row}"`);
}

async function measure({ isAlone, run }: Measurement, { address }: RunningServer): Promise<Figure[]> {
  const workers = isAlone === true ? [] : await startBoth(address);
  const connection = await Connection.connect({ address });
  try {
    return await run({ address, client: new Client({ connection }), say });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await connection.close();
  }
}

/** The workers of both sides. */
function startBoth(address: string): Promise<{ stop(): Promise<void> }[]> {
  const ours = startOurs(address, join(__dirname, '..', 'lib', 'workflow-bundle.js'));
  return Promise.all([ours, startBaseline(address)]);
}

async function comparePeers(): Promise<number> {
  const rows = await withServer((server, dbFile) => measurePeers({ server, dbFile, say }));
  process.stdout.write(`${peersTables(rows).join('\n')}\n`);
  if (values.write) writePeers(rows, new Date().toISOString().slice(0, 10));
  return judgePeers(rows).every(({ ok }) => ok) ? 0 : 1;
}

async function main(): Promise<number> {
  if (values.peers) return comparePeers();
  const measurements = chosen();
  printHead(values.json);
  const figures = await withServer((server) => measureAll(measurements, server));
  return figures.every(({ ok }) => ok) ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
