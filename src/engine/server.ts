import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { toDiskError } from './disk';
import type { Progress } from './engine';
import { withLock } from './lock';
import { adopt } from './server-adopt';
import { launch } from './server-launch';
import type { ServerLog } from './server-args';
import type { ServerExit } from './server-process';
import { livingServer } from './server-record';

/** How to start a server. */
export interface StartOptions {
  /** Temporal's command line, from `resolveEngine`. */
  binary: string;
  /** Database file, created with its folder when missing. Without it everything is in memory and ends with the server. */
  dbFile?: string;
  /** Port of the frontend. @default a free one */
  port?: number;
  /** Port of Temporal's own UI. @default a free one. Has no effect when headless. */
  uiPort?: number;
  /** No UI. @default false */
  headless?: boolean;
  /** Created when missing. @default 'default' */
  namespace?: string;
  /** The server's own log level. @default 'warn' */
  log?: ServerLog;
  /** More of the server's dynamic configuration, `key=value` each. */
  dynamicConfig?: readonly string[];
  progress?: Progress;
}

/** A server that answers. */
export interface RunningServer {
  address: string;
  /** Where Temporal's own UI is; undefined when headless. */
  uiUrl: string | undefined;
  namespace: string;
  pid: number;
  /** What the server writes. */
  logFile: string;
  /** True when the server ran already; it keeps the ports it has. */
  reused: boolean;
  /** Ends the server and resolves when it is gone. Has no effect on a server that another living process started. */
  stop: () => Promise<void>;
  /** Resolves when the server is gone, for whatever reason. */
  exited: Promise<ServerExit>;
}

/**
 * Starts a server on the loopback address and resolves once it is usable: namespace there, search attributes registered.
 * A file has one server at most: when one runs already it is used, and taken over if the process that started it died.
 * @throws CountersignError `server_failed`: a port is taken, the disk is full, the server died (with its last lines), or it never answered.
 */
export const startServer = async (options: StartOptions): Promise<RunningServer> => {
  if (options.dbFile === undefined) return launchInMemory(options);
  try {
    return await startOnFile({ ...options, dbFile: await absolute(options.dbFile) });
  } catch (error) {
    throw toDiskError(error, dirname(options.dbFile));
  }
};

const startOnFile = async (options: StartOptions & { dbFile: string }): Promise<RunningServer> => {
  const { dbFile } = options;
  const lock = {
    progress: options.progress ?? (() => undefined),
    what: 'The Temporal server of this file is being started',
  };
  return withLock(`${dbFile}.lock`, lock, async () => {
    const record = livingServer(dbFile);
    const running = record === undefined ? undefined : await adopt(dbFile, record);
    return running ?? launch({ ...options, logFile: `${dbFile}.log` });
  });
};

const launchInMemory = async (options: StartOptions): Promise<RunningServer> => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-server-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    const server = await launch({ ...options, logFile: join(directory, 'server.log') });
    void server.exited.then(remove);
    return server;
  } catch (error) {
    remove();
    throw error;
  }
};

/** One name for one file, however it was reached: the record is found by it. */
const absolute = async (file: string): Promise<string> => {
  const directory = dirname(resolve(file));
  await mkdir(directory, { recursive: true });
  return join(await realpath(directory), basename(file));
};
