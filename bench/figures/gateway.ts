import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connect } from '../../lib/client';
import { placeOfCall } from '../../lib/gateway/call-id';
import { unlessNotFound } from '../../lib/history/server-errors';
import { createUsers } from '../../lib/server/auth/users';
import { absolute, alternate, median, timed, type Bench, type Figure, type Measurement } from '../figure';
import { writeLock } from '../mcp-lock';
import { freshId } from '../subjects';
import { requestOf } from './decision';

const ROUNDS = 40;
const CALLS = 20;
const DECISIONS = 60;
const STARTS = 7;
const WHO = 'bench';

const root = join(__dirname, '..', '..');
const server = { command: process.execPath, args: [join(root, 'bench', 'mcp-server.cjs'), '2'] };
const safeCall = { name: 'records_0', arguments: { limit: 1 } };
const heldCall = { name: 'records_1', arguments: { limit: 1 } };

/** What a gateway adds to a call of an MCP server, when a decision becomes an answer, and when a gateway lists its tools. */
export const gateway: Measurement = {
  name: 'gateway',
  isAlone: true,
  async run(bench) {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-gateway-'));
    try {
      const start = await prepareGateway(bench, folder);
      return [...(await starts(start)), ...(await calls(bench, start))];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** A gateway of one server, and how a client starts and reaches it. */
interface Start {
  command: string;
  args: string[];
  env: Record<string, string>;
  token: string;
}

async function prepareGateway({ address }: Bench, folder: string): Promise<Start> {
  const mcpLock = join(folder, 'lock');
  await writeLock(mcpLock, { one: server });
  const options = {
    ...{ agents: [], mcpServers: { one: server }, mcpLock, stateDir: join(folder, 'state') },
    ...{ mcpTools: { one__records_0: { safety: 'safe', effect: 'pure' } }, log: { calls: false } },
  };
  const config = join(folder, 'countersign.config.cjs');
  const library = JSON.stringify(join(root, 'lib', 'index.js'));
  writeFileSync(config, `module.exports = require(${library}).defineConfig(${JSON.stringify(options)});\n`);
  const token = await createUsers(join(folder, 'countersign', 'users.json')).add(WHO, ['converse']);
  const bin = join(root, 'bin', 'countersign.js');
  const { PATH = '', HOME = '' } = process.env;
  return {
    command: process.execPath,
    args: [bin, '--address', address, '--as', WHO, 'mcp', 'gateway', 'one', '--config', config],
    env: { PATH, HOME, XDG_STATE_HOME: folder },
    token,
  };
}

/** A client of a program that speaks MCP over stdio. */
async function connectTo(program: Omit<Start, 'token' | 'env'> & { env?: Start['env'] }): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ ...program, stderr: 'ignore' }));
  return client;
}

async function starts(start: Start): Promise<Figure[]> {
  const samples: number[] = [];
  for (let round = 0; round < STARTS; round++) {
    const opened: Client[] = [];
    const ms = await timed(async () => {
      const client = await connectTo(start);
      opened.push(client);
      await client.listTools();
    });
    samples.push(ms);
    await Promise.all(opened.map((client) => client.close()));
  }
  return [absolute('gateway started → its tools listed', median(samples) / 1000, { most: 1.5, unit: 's' })];
}

async function calls(bench: Bench, start: Start): Promise<Figure[]> {
  const [direct, stdio, http] = [await connectTo(server), await connectTo(start), await openHttp(start)];
  try {
    const calling = (client: Client) => async (): Promise<number> => {
      const all = timed(async () => {
        for (let n = 0; n < CALLS; n++) await client.callTool(safeCall);
      });
      return (await all) / CALLS;
    };
    const subjects = [direct, stdio, http.client].map(calling);
    const [directs = [], stdios = [], https = []] = await alternate(ROUNDS, ...subjects);
    const over = (numbers: readonly number[]): number =>
      median(numbers.map((ms, at) => ms - (directs[at] ?? NaN)));
    await http.close();
    const answers = await decisions(bench, stdio);
    const at = Math.ceil(DECISIONS * 0.9) - 1;
    return [
      absolute('safe call through the gateway, over the bare one', over(stdios), { most: 2, unit: 'ms' }),
      absolute('the same call over HTTP', over(https), { most: 8, unit: 'ms' }),
      absolute('decision sent → answer of the gateway', median(answers), { most: 80, unit: 'ms' }),
      absolute('the same, 54 of 60', answers[at] ?? NaN, { most: 200, unit: 'ms' }),
    ];
  } finally {
    await Promise.all([direct.close(), stdio.close(), http.close()]);
  }
}

/** Milliseconds from decisions to answers, the shortest first. */
async function decisions(bench: Bench, client: Client): Promise<number[]> {
  const countersign = await connect({ address: bench.address });
  const answered = async (): Promise<number> => {
    const key = freshId('key');
    const answer = client.callTool(
      { ...heldCall, _meta: { 'io.countersign/key': key } },
      { onprogress: () => undefined, resetTimeoutOnProgress: true },
    );
    const call = { who: WHO, tool: 'one__records_1', arguments: heldCall.arguments, key: ['mcp', key] };
    const { turn } = placeOfCall(call, { agent: 'gateway', taskQueue: '' });
    const handle = bench.client.workflow.getHandle(turn);
    while ((await unlessNotFound(handle.describe())) === undefined);
    await requestOf(bench, turn);
    return timed(async () => {
      await Promise.all([answer, countersign.decide(turn, { callId: '1.1', decision: 'approved' })]);
    });
  };
  const [samples = []] = await alternate(DECISIONS, answered);
  await countersign.close();
  return [...samples].sort((one, other) => one - other);
}

/** A gateway over HTTP in a process of its own, with a client. */
async function openHttp({ command, args, env, token }: Start) {
  const child = spawn(command, [...args, '--http', '0'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the gateway ended before it listened')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, found] = /(http:\S+\/mcp)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  const client = new Client({ name: 'bench', version: '1' });
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const gone = once(child, 'exit');
  return {
    client,
    close: async () => {
      await client.close();
      child.kill();
      await gone;
    },
  };
}
