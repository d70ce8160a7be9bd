import { setTimeout as delay } from 'node:timers/promises';
import { dirname } from 'node:path';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { CountersignError } from '../contract/errors';
import { fullDisk, removeRecord, writeRecord } from './server-record';
import { LOOPBACK_HOST } from '../system/loopback';
import { freePorts, isFree, serverArgs, type ServerLog, type ServerPlan } from './server-args';
import {
  endProcess,
  endWithUs,
  type ServerExit,
  type ServerProcess,
  spawnServer,
  waitUntilReady,
} from './server-process';
import type { Progress } from './engine';

/** The options of `startServer`. */
export interface StartOptions {
  /** Temporal's command line, from `resolveEngine`. */
  binary: string;
  /**
   * The database file. If it is missing, the file and its folder are created. Without this option all data is in memory
   * and ends with the server.
   */
  dbFile?: string;
  /** Port of the frontend. @default a free one */
  port?: number;
  /** Port of Temporal's own UI. @default a free one. Has no effect when headless. */
  uiPort?: number;
  /** Whether the server starts without a UI. @default false */
  headless?: boolean;
  /** The namespace, which is created if it is missing. @default 'default' */
  namespace?: string;
  /** The server's own log level. @default 'warn' */
  log?: ServerLog;
  /** Further values of the server's dynamic configuration, each as `key=value`. */
  dynamicConfig?: readonly string[];
  progress?: Progress;
}

/** A server that answers. */
export interface RunningServer {
  address: string;
  /** The address of Temporal's own UI. Undefined when headless. */
  uiUrl: string | undefined;
  namespace: string;
  pid: number;
  /** The file that receives the server's output. */
  logFile: string;
  /** True if the server ran already. Such a server keeps its ports. */
  reused: boolean;
  /** Ends the server and resolves when it is gone. Has no effect on a server that another living process started. */
  stop: () => Promise<void>;
  /** Resolves when the server is gone, for whatever reason. */
  exited: Promise<ServerExit>;
}

/** The options of a launch; the paths are absolute. */
interface LaunchOptions extends StartOptions {
  logFile: string;
}

const START_MS = 30_000;
const POLL_MS = 20;
/**
 * The most times that ports are drawn. Two servers that start at the same time may draw the same free port, and one of
 * them has to draw again.
 */
const DRAWS = 5;

/** Starts a server. Draws new ports if another process took one of the drawn ports in between. */
export const launch = async (options: LaunchOptions): Promise<RunningServer> => {
  await refuseTakenPorts(options);
  for (let draw = 1; ; draw++) {
    const plan = await makePlan(options);
    const child = await spawnServer(options.binary, serverArgs(plan), options.logFile);
    const server = describe(plan, child);
    const guard = endWithUs(child, plan.dbFile === undefined);
    if (plan.dbFile !== undefined)
      writeRecord(plan.dbFile, {
        pid: server.pid,
        owner: process.pid,
        address: server.address,
        uiUrl: server.uiUrl,
        namespace: server.namespace,
        logFile: server.logFile,
      });
    const failure = await whyUnusable(server, child);
    if (failure === undefined) return server;
    const lost = lostPort(child.logFile);
    await server.stop();
    guard();
    if (lost === undefined) throw whyFailed(plan, failure);
    if (draw === DRAWS) throw whyFailed(plan, failure.includes(lost) ? failure : `${lost}\n${failure}`);
  }
};

const refuseTakenPorts = async ({ port, uiPort, headless }: LaunchOptions): Promise<void> => {
  const wanted = [port, headless === true ? undefined : uiPort];
  for (const number of wanted) {
    if (number !== undefined && !(await isFree(number)))
      throw new CountersignError('server_failed', `port ${number} is taken`, {
        hint: `Choose another port, or set TEMPORAL_ADDRESS=${LOOPBACK_HOST}:${number} if a Temporal server listens there that you want to use.`,
        data: { port: number },
      });
  }
};

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
  pid,
  logFile,
  exited,
  reused: false,
  namespace: plan.namespace,
  address: `${LOOPBACK_HOST}:${plan.port}`,
  uiUrl: plan.uiPort === undefined ? undefined : `http://${LOOPBACK_HOST}:${plan.uiPort}`,
  stop: async () => {
    await endProcess(pid, plan.dbFile === undefined ? 'SIGKILL' : 'SIGTERM');
    await exited;
    if (plan.dbFile !== undefined) removeRecord(plan.dbFile);
  },
});

/** Undefined once the server is usable; otherwise the reason, followed by the last lines of the server's log. */
const whyUnusable = async (server: RunningServer, child: ServerProcess): Promise<string | undefined> => {
  let isGone = false;
  const gone = child.exited.then(() => (isGone = true));
  const until = performance.now() + START_MS;
  while (!isGone && !saysItListens(child.logFile) && performance.now() < until) await delay(POLL_MS);
  if (isGone) return deathOf(child);
  const readiness = await waitUntilReady({ ...server, timeoutMs: until - performance.now(), gone });
  if (readiness.ready) return undefined;
  if (isGone) return deathOf(child);
  return `no answer within ${START_MS / 1000} s: ${readiness.why}\n${lastLines(child.logFile)}`;
};

const deathOf = async ({ exited, logFile }: ServerProcess): Promise<string> => {
  const { code, signal } = await exited;
  return `it ended at once ${signal === null ? `with code ${code}` : `by ${signal}`}\n${lastLines(logFile)}`;
};

/** The error for a server that failed to start. A server on a full disk may not even be able to write why it ended. */
const whyFailed = ({ dbFile }: ServerPlan, failure: string): CountersignError =>
  (dbFile === undefined ? undefined : fullDisk(dirname(dbFile))) ??
  new CountersignError(
    'server_failed',
    `the Temporal server did not start: ${failure}`,
    'Its own last lines above say why; `countersign doctor` checks the rest.',
  );

const LAST_LINES = 12;
/**
 * The most bytes of a log that we read. A start writes far less, and a server that floods its log must not fill our
 * memory.
 */
const START_BYTES = 4 * 1024 * 1024;

/** The last lines a server wrote. */
const lastLines = (logFile: string): string =>
  readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LAST_LINES).join('\n');

/** True once the server's log says that it listens; an answer on its port could be another server's. */
const saysItListens = (logFile: string): boolean => /^(Temporal )?Server:/m.test(readStart(logFile));

/**
 * The line in which the server reports that one of its ports was taken. The line may not be among the last ones,
 * because a server that loses an inner port goes on without the listener and panics later, with a long trace.
 */
const lostPort = (logFile: string): string | undefined =>
  /^.*address already in use.*$/m.exec(readStart(logFile))?.[0];

/** The beginning of the log. Each start begins a new log, so this text belongs to the current start. */
const readStart = (logFile: string): string => {
  const file = openSync(logFile, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(fstatSync(file).size, START_BYTES));
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
};
