import { createServer, type Server } from 'node:net';
import { attributeKey, ATTRIBUTES } from '../contract/names';
import { errnoOf } from '../contract/errors';
import { LOOPBACK_HOST } from '../system/loopback';

/**
 * Settings of our dev server, which has one shard. By default a shard polls its queues at most 20 times a second. Every
 * transition of a lone turn would then wait 45 ms.
 */
export const DYNAMIC_CONFIG: readonly string[] = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=2000',
  'system.enableActivityEagerExecution=true',
];

/**
 * The most signals to one workflow. More signals would delay the other turns of its worker by seconds. Updates do not
 * count.
 */
export const SIGNAL_LIMIT = 'history.maximumSignalsPerExecution=1000';

/** The types of search attributes, as Temporal's command line spells them. */
const SPELLING = {
  KEYWORD: 'Keyword',
  KEYWORD_LIST: 'KeywordList',
  INT: 'Int',
  DATETIME: 'Datetime',
} as const;

/** The type of each of our search attributes, as Temporal's command line spells it. */
export const ATTRIBUTE_TYPES: Readonly<Record<string, string>> = Object.fromEntries(
  ATTRIBUTES.map((attribute) => {
    const { name, type } = attributeKey(attribute);
    return [name, SPELLING[type]];
  }),
);

/** The least severe messages of the server's own log that are kept. */
export type ServerLog = 'debug' | 'info' | 'warn' | 'error' | 'never';

/** The settings that `temporal server start-dev` is started with. */
export interface ServerPlan {
  port: number;
  httpPort: number;
  metricsPort: number;
  /** The port of the UI. Undefined: no UI. */
  uiPort: number | undefined;
  /** The database file. Undefined: all data is in memory. */
  dbFile: string | undefined;
  namespace: string;
  log: ServerLog;
  /**
   * Values of the dynamic configuration, each as `key=value`. They come after our own values, so that they take
   * precedence.
   */
  dynamicConfig: readonly string[];
}

/** The arguments of Temporal's command line for a plan. */
export const serverArgs = (plan: ServerPlan): string[] => [
  ...['server', 'start-dev', '--ip', LOOPBACK_HOST, '--log-level', plan.log, '--namespace', plan.namespace],
  ...[
    '--port',
    String(plan.port),
    '--http-port',
    String(plan.httpPort),
    '--metrics-port',
    String(plan.metricsPort),
  ],
  ...(plan.uiPort === undefined ? ['--headless'] : ['--ui-port', String(plan.uiPort)]),
  ...(plan.dbFile === undefined ? [] : fileArgs(plan.dbFile)),
  ...[...DYNAMIC_CONFIG, SIGNAL_LIMIT, ...plan.dynamicConfig].flatMap((value) => [
    '--dynamic-config-value',
    value,
  ]),
  ...Object.entries(ATTRIBUTE_TYPES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
];

/** WAL with full sync, so that data which the server acknowledged survives a power cut. */
const fileArgs = (dbFile: string): string[] => [
  ...['--db-filename', dbFile],
  ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=FULL'],
];

/** Finds free ports, all different. Each port is held open until the last one is found. */
export const freePorts = async (count: number): Promise<number[]> => {
  const held = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = held.map(portOf);
  await Promise.all(held.map(close));
  return ports;
};

/** True if nothing listens on this port of the loopback address. */
export const isFree = async (port: number): Promise<boolean> => {
  try {
    await close(await listen(port));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EADDRINUSE') return false;
    throw error;
  }
};

const listen = async (port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, LOOPBACK_HOST, () => resolve(server));
  });

const close = async (server: Server): Promise<void> =>
  new Promise((resolve) => server.close(() => resolve()));

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
};
