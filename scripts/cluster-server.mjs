/**
 * The compose file's services as plain processes: the same programs, scripts, settings and environment; only where things
 * listen differs. So what the tests prove here is true of the compose file.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { answers } from './cluster-postgres.mjs';
import { at, say } from './root.mjs';

const require = createRequire(import.meta.url);
const READY_MS = 120_000;
const STOP_MS = 20_000;
const POLL_MS = 100;

/** The compose file, with anchors and merges resolved. */
export const readCompose = () => parse(readFileSync(at('docker-compose.yml'), 'utf8'), { merge: true });

/**
 * Lays down the schema, starts the server, creates namespace and search attributes; resolves once all are usable.
 * `started` gets the process at once, so that it can be ended whatever fails later.
 */
export const startTemporal = async ({ bin, cli, directory, postgres, started }) => {
  const { services } = readCompose();
  const programs = { PATH: [bin, dirname(cli), process.env.PATH].join(delimiter) };
  const log = join(directory, 'temporal.log');
  await script(services.schema, { ...programs, ...sqlPlace(postgres) });
  const ports = await lowPorts(PORT_SETTINGS.length);
  const env = { ...services.temporal.environment, ...serverPlace(postgres, ports), ...programs };
  env.DYNAMIC_CONFIG_FILE_PATH = writeSettings(directory);
  const server = launch(join(bin, 'temporal-server'), { env, log });
  started(server);
  const address = `127.0.0.1:${ports[0]}`;
  await ready({ server, port: ports[0], log });
  const namespace = 'default';
  const place = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, RETENTION: '1d' };
  await Promise.race([script(services.namespace, { ...programs, ...place }), server.died]);
  return { address, namespace, pid: server.pid };
};

const sqlPlace = ({ host, port, user, password }) => ({
  SQL_HOST: host,
  SQL_PORT: String(port),
  SQL_USER: user,
  SQL_PASSWORD: password,
});

/** Where a service listens differs from the compose file. */
const serverPlace = ({ host, port, user, password }, ports) => ({
  POSTGRES_SEEDS: host,
  DB_PORT: String(port),
  POSTGRES_USER: user,
  POSTGRES_PWD: password,
  BIND_ON_IP: '127.0.0.1',
  ...portSettings(ports),
});

/** The compose file's, and one namespace that has the server's default for lists: 10 a second. */
const writeSettings = (directory) => {
  const settings = parse(readFileSync(at('deploy', 'dynamicconfig.yaml'), 'utf8'));
  settings['frontend.namespaceRPS.visibility'].push({ value: 10, constraints: { namespace: 'limited' } });
  const file = join(directory, 'dynamicconfig.yaml');
  writeFileSync(file, stringify(settings));
  return file;
};

/** The membership table keeps ports in two signed bytes, so those that the system hands out are too high for it. */
const lowPorts = async (count) => {
  const { isFree } = require(at('lib', 'engine', 'server-args.js'));
  const found = new Set();
  while (found.size < count) {
    const port = randomInt(...LOW_PORTS);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
};

const LOW_PORTS = [20_000, 32_000];

/** Each port that a server listens on has a setting. */
const portSettings = (ports) =>
  Object.fromEntries(PORT_SETTINGS.map((name, index) => [name, String(ports[index])]));

const PORT_SETTINGS = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_HTTP_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
];

/** Runs a one-shot service's script with its own environment and ours over it. */
const script = async ({ entrypoint, command, environment }, env) => {
  const [shell] = entrypoint;
  const [path] = command;
  say(`running deploy${path.slice('/deploy'.length)}`);
  const { run } = require(at('lib', 'engine', 'run.js'));
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => !value.includes('${')));
  const { code, lines } = await run(shell, [at(path.slice(1))], {
    env: { ...given, HOME: process.env.HOME, ...env },
  });
  if (code !== 0) throw new Error(`${path} failed:\n${lines.slice(-12).join('\n')}`);
};

/** The server gets its own environment and nothing of ours: settings for clients have no say in it. */
const launch = (program, { env, log }) => {
  const output = openSync(log, 'a');
  try {
    const child = spawn(program, ['start'], { env, detached: true, stdio: ['ignore', output, output] });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    const died = gone.then(() => Promise.reject(new Error(`the Temporal server ended:\n${lastLines(log)}`)));
    // It ends on request as well, and then nobody waits for this.
    died.catch(() => undefined);
    return { died, pid: child.pid, stop: () => stop(child, gone) };
  } finally {
    closeSync(output);
  }
};

const stop = async (child, gone) => {
  child.kill('SIGTERM');
  if (await Promise.race([gone.then(() => true), delay(STOP_MS, false, { ref: false })])) return;
  child.kill('SIGKILL');
  await gone;
};

const ready = async ({ server, port, log }) => {
  const until = performance.now() + READY_MS;
  while (!(await Promise.race([answers(port), server.died]))) {
    if (performance.now() > until) throw new Error(`the Temporal server did not start:\n${lastLines(log)}`);
    await delay(POLL_MS);
  }
};

const lastLines = (file) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-12).join('\n');
