import { setTimeout as delay } from 'node:timers/promises';
import { dirname } from 'node:path';
import { CountersignError } from '../contract/errors';
import { fullDisk } from './disk';
import { freePorts, isFree, LOOPBACK } from './ports';
import { endWithUs } from './server-guard';
import { endProcess, lastLines, saysItListens, spawnServer } from './server-process';
import type { ServerProcess } from './server-process';
import { waitUntilReady } from './server-ready';
import { removeRecord, writeRecord } from './server-record';
import type { RunningServer, StartOptions } from './server';
import { serverArgs } from './server-args';
import type { ServerPlan } from './server-args';

/** What a launch needs; the paths are absolute. */
export interface LaunchOptions extends StartOptions {
  logFile: string;
}

const READY_MS = 30_000;
const POLL_MS = 20;
/** Two servers that start at once may draw the same free port; the one that lost draws again. */
const DRAWS = 5;

/** Starts a server, with new ports as long as those it drew were taken meanwhile. */
export const launch = async (options: LaunchOptions): Promise<RunningServer> => {
  await refuseTakenPorts(options);
  for (let draw = 1; ; draw++) {
    const plan = await makePlan(options);
    const child = await spawnServer(options.binary, serverArgs(plan), options.logFile);
    const server = describe(plan, child);
    const guard = endWithUs(child, plan.dbFile === undefined);
    if (plan.dbFile !== undefined) remember(plan.dbFile, server);
    const failure = await whyUnusable(server, child);
    if (failure === undefined) return server;
    await server.stop();
    guard();
    if (draw === DRAWS || !/address already in use/.test(failure)) throw whyFailed(plan, failure);
  }
};

const refuseTakenPorts = async ({ port, uiPort, headless }: LaunchOptions): Promise<void> => {
  const wanted = [port, headless === true ? undefined : uiPort];
  for (const number of wanted) {
    if (number !== undefined && !(await isFree(number))) throw portTaken(number);
  }
};

const portTaken = (port: number): CountersignError =>
  new CountersignError('server_failed', `port ${port} is taken`, {
    hint: `Choose another port, or set TEMPORAL_ADDRESS=${LOOPBACK}:${port} if a Temporal server listens there that you want to use.`,
    data: { port },
  });

const makePlan = async (options: LaunchOptions): Promise<ServerPlan> => {
  const [port = 0, httpPort = 0, metricsPort = 0, uiPort = 0] = await freePorts(4);
  return {
    port: options.port ?? port,
    httpPort,
    metricsPort,
    uiPort: options.headless === true ? undefined : (options.uiPort ?? uiPort),
    dbFile: options.dbFile,
    namespace: options.namespace ?? 'default',
    log: options.log ?? 'warn',
    dynamicConfig: options.dynamicConfig ?? [],
  };
};

const describe = (plan: ServerPlan, { pid, logFile, exited }: ServerProcess): RunningServer => ({
  ...{ pid, logFile, exited, reused: false, namespace: plan.namespace },
  address: `${LOOPBACK}:${plan.port}`,
  uiUrl: plan.uiPort === undefined ? undefined : `http://${LOOPBACK}:${plan.uiPort}`,
  stop: async () => {
    await endProcess(pid, plan.dbFile === undefined ? 'SIGKILL' : 'SIGTERM');
    await exited;
    if (plan.dbFile !== undefined) removeRecord(plan.dbFile);
  },
});

const remember = (dbFile: string, { pid, address, uiUrl, namespace, logFile }: RunningServer): void =>
  writeRecord(dbFile, { pid, owner: process.pid, address, uiUrl, namespace, logFile });

/** Undefined once the server is usable; otherwise what went wrong, ending in the server's own last lines. */
const whyUnusable = async (server: RunningServer, child: ServerProcess): Promise<string | undefined> => {
  let isGone = false;
  const gone = child.exited.then(() => (isGone = true));
  const until = Date.now() + READY_MS;
  while (!isGone && !saysItListens(child.logFile) && Date.now() < until) await delay(POLL_MS);
  if (isGone) return deathOf(child);
  const readiness = await waitUntilReady({ ...server, timeoutMs: until - Date.now(), gone });
  if (readiness.ready) return undefined;
  if (isGone) return deathOf(child);
  return `no answer within ${READY_MS / 1000} s: ${readiness.why}\n${lastLines(child.logFile)}`;
};

const deathOf = async ({ exited, logFile }: ServerProcess): Promise<string> => {
  const { code, signal } = await exited;
  return `it ended at once ${signal === null ? `with code ${code}` : `by ${signal}`}\n${lastLines(logFile)}`;
};

/** A server on a full disk may not even be able to write why it ended. */
const whyFailed = ({ dbFile }: ServerPlan, failure: string): CountersignError =>
  (dbFile === undefined ? undefined : fullDisk(dirname(dbFile))) ?? failed(failure);

const failed = (failure: string): CountersignError =>
  new CountersignError('server_failed', `the Temporal server did not start: ${failure}`, {
    hint: 'Its own last lines above tell why; `countersign doctor` checks the rest.',
  });
