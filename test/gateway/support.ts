import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { EVERYTHING, type Permit } from '../../src/authority/rules/permits';
import { connect, type Countersign } from '../../src/client';
import { isObject } from '../../src/contract/json';
import { TASKS } from '../../src/gateway/answers';
import { openBackend } from '../../src/gateway/backend';
import { createGateway, type Gateway, HOLD } from '../../src/gateway/gateway';
import { serveHttp } from '../../src/gateway/http';
import { openGatewayTools, type Served } from '../../src/gateway/tools';
import { createUsers } from '../../src/server/auth/users';
import { createCallLog } from '../../src/tools/call-log';
import { type ConfigOptions, defineConfig, withAgents } from '../../src/tools/define-config';
import type { McpServer } from '../../src/tools/mcp/declare';
import { formatLock } from '../../src/tools/mcp/lock-file';
import { createSecrets } from '../../src/tools/secrets';
import { startWorker } from '../../src/worker';
import { testAddress, testBundle } from '../support/server';
import { WITHOUT_THREADS } from '../support/worker-here';
import { allow, HOSTILE } from '../tools/mcp/support';

type RunningHttp = Awaited<ReturnType<typeof serveHttp>>;

const real = (name: string): string => require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);

/** The servers of a gateway in a folder: three of npm, and one that does as it is asked. */
export function serversIn(
  folder: string,
): Record<string, { command: string; args: string[]; env?: Record<string, string> }> {
  const node = (...args: string[]) => ({ command: process.execPath, args });
  return {
    files: node(real('filesystem'), folder),
    every: node(real('everything')),
    memory: { ...node(real('memory')), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
    hostile: node(HOSTILE, 'Does as it is asked.', join(folder, 'effects')),
  };
}

/** Writes the lock of these servers, as they are now. */
export async function lockServers(
  servers: ReturnType<typeof serversIn>,
  change: (name: string, tools: Record<string, unknown>) => void = () => undefined,
): Promise<string> {
  const entries = await Promise.all(
    Object.entries(servers).map(async ([name, start]) => {
      const server: McpServer = { name, prefix: name, start: { kind: 'stdio', cwd: '.', env: {}, ...start } };
      const locked = await allow(server);
      change(name, locked.tools);
      return [name, locked] as const;
    }),
  );
  return formatLock({ version: 1, servers: Object.fromEntries(entries) });
}

/** A gateway in this process, with a worker and HTTP. */
export interface GatewayHere {
  gateway: Gateway;
  http: RunningHttp;
  folder: string;
  client: Countersign;
  tokens: Record<string, string>;
  /** Who runs its calls. */
  place: { agent: string; taskQueue: string };
  /** The official client for a user: of the protocols before 2026-07-28, unless the options say otherwise. */
  connect(user: string, options?: ClientOptions): Promise<Client>;
  /** One request of today's protocol, as a client that takes tasks sends it. */
  send(user: string, method: string, params: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** Starts one for a test file, with this change of the lock. */
export function useGateway(
  options: Partial<ConfigOptions>,
  more: {
    served?: Served;
    change?: Parameters<typeof lockServers>[1];
    hold?: Partial<typeof HOLD>;
    servers?: typeof serversIn;
  } = {},
): { here: GatewayHere } {
  const held: { here: GatewayHere } = Object.create(null);
  let stop: () => Promise<void> = () => Promise.resolve();
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-gateway-'));
    const servers = (more.servers ?? serversIn)(folder);
    const mcpLock = join(folder, 'countersign.mcp.lock');
    writeFileSync(mcpLock, await lockServers(servers, more.change));
    const stateDir = join(folder, 'state');
    const config = defineConfig({ agents: [], mcpServers: servers, mcpLock, stateDir, ...options });
    const secrets = createSecrets();
    const log = createCallLog({ log: () => undefined });
    const warn = (): void => undefined;
    const tools = await openGatewayTools(config, more.served ?? {}, {
      ...{ secrets, warn, onGone: warn, begun: Promise.resolve() },
    });
    const client = await connect({ address: testAddress() });
    const taskQueue = `gateway-test-${randomUUID()}`;
    const own = withAgents({ ...tools.config, taskQueue }, tools.config.agents);
    const worker = await startWorker(
      {
        ...{ config: own, address: testAddress(), workflowBundle: testBundle(), queues: [taskQueue] },
        ...{ logLevel: 'ERROR', worker: WITHOUT_THREADS },
      },
      { open: { config: own, close: () => Promise.resolve() }, secrets, rules: {} },
    );
    const backend = openBackend({
      ...{ agent: tools.agent.name, taskQueue, warn },
      open: () =>
        Promise.resolve({ client, lost: new Promise(() => undefined), close: () => Promise.resolve() }),
    });
    const hold = { ...HOLD, ...more.hold };
    const gateway = createGateway({
      tools,
      backend,
      config,
      secrets,
      log,
      rules: {},
      recordsAll: false,
      hold,
    });
    const usersFile = join(folder, 'users.json');
    const users = createUsers(usersFile);
    const tokens = {
      ann: await users.add('ann', ['converse']),
      bea: await users.add('bea', ['converse']),
      eve: await users.add('eve'),
      hid: await users.add('hid', ['converse']),
    };
    const permits: Record<string, Partial<Permit>> = {
      bea: { role: 'approver' },
      hid: { agents: ['other'] },
    };
    const http = await serveHttp({
      ...{ gateway, usersFile, host: '127.0.0.1', port: 0, version: '0', hookTools: config.hookTools },
      permitOf: (user) => Promise.resolve({ ...EVERYTHING, ...permits[user] }),
      report: () => undefined,
    });
    const clients: Client[] = [];
    held.here = {
      ...{ gateway, http, folder, client, tokens },
      place: { agent: tools.agent.name, taskQueue },
      connect: async (user, options = {}) => {
        const one = new Client({ name: 'test', version: '1' }, options);
        const headers = { Authorization: `Bearer ${tokens[user === 'ann' ? 'ann' : 'bea']}` };
        await one.connect(
          new StreamableHTTPClientTransport(new URL(`${http.url}/mcp`), { requestInit: { headers } }),
        );
        clients.push(one);
        return one;
      },
      send: (user, method, params) =>
        sendRaw(http.url, tokens[user === 'ann' ? 'ann' : 'bea'], { method, params }),
    };
    stop = async () => {
      await Promise.all(clients.map((one) => one.close()));
      await http.stop();
      await Promise.all([worker.stop(), backend.close()]);
      await tools.close();
      await client.close();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  afterAll(() => stop());
  return held;
}

let sent = 0;

/** One request of today's protocol, as a client sends it that takes tasks. */
export function todaysRequest(method: string, params: Record<string, unknown>) {
  const { _meta: meta, ...rest } = params;
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [TASKS]: {} } },
  };
  return {
    ...{ jsonrpc: '2.0', id: (sent += 1), method },
    params: { ...rest, _meta: { ...envelope, ...(isObject(meta) ? meta : {}) } },
  };
}

/** Sends one request of today's protocol, and returns its result or its error. */
export async function sendRaw(
  url: string,
  token: string,
  { method, params }: { method: string; params: Record<string, unknown> },
): Promise<Record<string, unknown>> {
  const name = String(params['name'] ?? params['taskId'] ?? '');
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      ...{ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...{ Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28' },
      ...{ 'Mcp-Method': method, ...(name !== '' && { 'Mcp-Name': name }) },
    },
    body: JSON.stringify(todaysRequest(method, params)),
  });
  const text = await response.text();
  const line = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
  const answer: Record<string, unknown> = JSON.parse(line);
  const found = answer['result'] ?? answer['error'];
  return isObject(found) ? found : answer;
}
