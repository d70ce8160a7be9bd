import { execFileSync, fork, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { z } from 'zod';
import { freePorts } from '../../lib/engine/server-args';

/** What is installed beside us, from the registry, for this comparison alone. */
const PEERS = {
  '@dbos-inc/dbos-sdk': '5.3.0',
  '@restatedev/restate-sdk': '1.17.2',
  '@restatedev/restate-server': '1.7.12',
} as const;

const JITI = join(__dirname, '..', '..', 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');
const ROOT = join(__dirname, '..', '..');

const Answer = z.object({ id: z.number(), ok: z.unknown(), error: z.string().optional() });

/** The process of a stack; see ./host.cjs. */
export interface StackProcess {
  ask(what: 'run' | 'decide' | 'kill' | 'recover' | 'cpu', about?: unknown): Promise<unknown>;
  /** Resolves when it has ended. */
  ended: Promise<unknown>;
  stop(): void;
}

/** `raw`: a hand-written workflow that waits for a signal, and has no loop. */
export type Kind = 'step' | 'gate' | 'each' | 'raw' | 'dbos' | 'restate';

/** One way to make a loop durable. */
export interface Stack {
  kind: Kind;
  name: string;
  /** A new process of it, on the same server. */
  start(): Promise<StackProcess>;
  /** Bytes that its server keeps. */
  stored(): number;
  /** Processes of its server. */
  pid: number;
  stop(): Promise<void>;
}

/** Installs the peers into a folder. Their scripts do not run: none is needed, and one reports to its vendor. */
export function installPeers(folder: string): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: PEERS }));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Where our server runs, and keeps its data; and a folder for journals. */
interface OurPlace {
  address: string;
  pid: number;
  dbFile: string;
  folder: string;
}

const OURS = [
  ['step', 'Countersign'],
  ['gate', "Countersign, `durability: 'gate'`"],
  ['each', 'the same with `commitEvery: 0`'],
] as const;

/** Ours in each of its modes, on a server that runs; and what a decision costs there at least. */
export function ourStacks({ address, pid, dbFile, folder }: OurPlace): Stack[] {
  const file = join(__dirname, 'countersign.ts');
  const stored = (): number => ['', '-wal'].reduce((sum, end) => sum + sizeOf(`${dbFile}${end}`), 0);
  const place = { pid, stored, stop: () => Promise.resolve() };
  const ours = OURS.map(([kind, name]) => {
    const stateDir = mkdtempSync(join(folder, 'journal-'));
    return {
      ...{ kind, name, ...place },
      start: () => startProcess(file, [address, stateDir, kind], folder),
    };
  });
  const start = () => startProcess(join(__dirname, 'raw.ts'), [address], folder);
  return [...ours, { kind: 'raw', name: 'raw signal to a hand-written workflow', ...place, start }];
}

/** DBOS on a PostgreSQL of its own, durable as it comes. */
export async function dbosStack(folder: string): Promise<Stack> {
  const directory = join(folder, 'postgres');
  mkdirSync(directory, { mode: 0o711 });
  const [port = 0] = await freePorts(1);
  const args = [join(ROOT, 'scripts', 'postgres-process.mjs'), directory, String(port)];
  const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = once(server, 'close');
  const [user]: unknown[] = await once(server.stdout, 'data');
  const url = `postgres://${String(user).trim()}@127.0.0.1:${port}/dbos`;
  return {
    ...{ kind: 'dbos', name: 'DBOS' },
    pid: server.pid ?? 0,
    start: () => startProcess(join(__dirname, 'dbos.cjs'), [url], folder),
    stored: () => sizeOf(join(directory, 'postgres', 'base')),
    stop: async () => {
      server.stdin.end();
      await gone;
    },
  };
}

/** Restate on a server of its own. */
export async function restateStack(folder: string): Promise<Stack> {
  const [ingress = 0, admin = 0, node = 0, own = 0] = await freePorts(4);
  const data = join(folder, 'restate');
  const server = spawn(restateBinary(folder), ['--base-dir', data, '--node-name', 'bench'], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: {
      ...process.env,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
  });
  const gone = once(server, 'close');
  await untilAnswers(`http://127.0.0.1:${admin}/health`);
  return {
    ...{ kind: 'restate', name: 'Restate' },
    pid: server.pid ?? 0,
    start: () => startProcess(join(__dirname, 'restate.cjs'), [ingress, admin, own].map(String), folder),
    stored: () => sizeOf(data),
    stop: async () => {
      server.kill('SIGTERM');
      await gone;
    },
  };
}

function restateBinary(folder: string): string {
  const packages = join(folder, 'node_modules', '@restatedev');
  const mine = readdirSync(packages).find((name) => name.startsWith('restate-server-'));
  if (mine === undefined) throw new Error('there is no Restate server for this machine');
  return join(packages, mine, 'bin', 'restate-server');
}

async function untilAnswers(url: string): Promise<void> {
  for (let look = 0; look < 600; look++) {
    const found = await fetch(url).catch(() => undefined);
    if (found?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${url} did not answer within a minute`);
}

async function startProcess(file: string, args: readonly string[], cwd: string): Promise<StackProcess> {
  const execArgv = file.endsWith('.ts') ? [JITI] : [];
  const child = fork(file, [...args], { cwd, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const open = new Map<number, (answer: z.infer<typeof Answer>) => void>();
  let asked = 0;
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message) => {
      if (message === 'ready') return resolve();
      const answer = Answer.parse(message);
      open.get(answer.id)?.(answer);
      open.delete(answer.id);
    });
  });
  const early = ended.then(() => Promise.reject(new Error(`${file} ended before it was ready`)));
  await Promise.race([ready, early]);
  early.catch(() => undefined);
  return {
    ended,
    stop: () => void child.kill('SIGKILL'),
    ask: async (what, about) => {
      const id = (asked += 1);
      const answered = new Promise<z.infer<typeof Answer>>((resolve) => open.set(id, resolve));
      child.send({ id, ask: what, about });
      const { ok, error } = await answered;
      if (error !== undefined) throw new Error(error);
      return ok;
    },
  };
}

/** Bytes of a file, or of all files below a folder; 0 where it is not there. */
function sizeOf(path: string): number {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return 0;
  if (!facts.isDirectory()) return facts.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
