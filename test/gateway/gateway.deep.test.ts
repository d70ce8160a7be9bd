import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect, type Countersign } from '../../src/client';
import { isObject } from '../../src/contract/json';
import { placeOfCall } from '../../src/gateway/call-id';
import { approveNext, denyNext } from '../../src/testing';
import { bareEnv, startCli } from '../cli/process';
import { lib, root } from '../support/build';
import { runOnNode22 } from '../support/node22';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { lockServers, serversIn, todaysRequest, useGateway } from './support';

/** A gateway over stdio, in a process of its own. */
interface GatewayProcess {
  /** Sends one request of today's protocol, and returns its result or its error. */
  send(method: string, params?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** The lines of stdout that are not of the protocol. */
  strange: readonly string[];
  stderr(): string;
  kill(): Promise<void>;
  /** Closes its input, as a client does that ends, and waits until it is gone. */
  leave(): Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-gateway-'));
const running: GatewayProcess[] = [];
afterAll(async () => {
  await Promise.all(running.map((one) => one.kill()));
  rmSync(folder, { recursive: true, force: true });
});

function startGateway(address: string, ...args: string[]): GatewayProcess {
  const child = spawn(
    process.execPath,
    [join(root, 'bin', 'countersign.js'), '--address', address, 'mcp', ...args],
    { env: { ...bareEnv(), XDG_STATE_HOME: join(folder, 'user') } },
  );
  const answers = new Map<unknown, (answer: Record<string, unknown>) => void>();
  const strange: string[] = [];
  let err = '';
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message: unknown = line.startsWith('{') ? JSON.parse(line) : undefined;
    if (!isObject(message) || message['jsonrpc'] !== '2.0') return void strange.push(line);
    const found = message['result'] ?? message['error'];
    if (isObject(found)) answers.get(message['id'])?.(found);
  });
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const one: GatewayProcess = {
    strange,
    send: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const asked = todaysRequest(method, params);
        answers.set(asked.id, resolve);
        void gone.then(() => reject(new Error(`the gateway ended: ${err}`)));
        child.stdin.write(`${JSON.stringify(asked)}\n`);
      }),
    stderr: () => err,
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
    leave: async () => {
      child.stdin.end();
      await gone;
    },
  };
  running.push(one);
  return one;
}

function writeConfig(name: string, ...lines: string[]): string {
  const file = join(folder, name);
  writeFileSync(
    file,
    [`const countersign = require(${JSON.stringify(lib('index.js'))});`, ...lines].join('\n'),
  );
  return file;
}

it('serves an agent without Temporal: safe calls work, others fail with words, and stdout has the protocol alone', async () => {
  const config = writeConfig(
    'clerk.config.cjs',
    "console.log('the config prints');",
    "const { z } = require('zod');",
    "const tool = (name, safety, effect) => countersign.defineTool({ name, safety, effect, description: 'Does.',",
    '  parameters: z.object({}), handler: () => { console.log(`${name} prints`); return `${name} did` } });',
    "const tools = [tool('look', 'safe', 'pure'), tool('pay', 'dangerous', 'unsafe')];",
    'const model = countersign.scriptedModel([]);',
    "module.exports = countersign.defineAgent({ name: 'clerk', instructions: 'Look.', model, tools });",
  );
  const { send, strange, stderr } = startGateway(
    '127.0.0.1:1',
    'gateway',
    '--agent',
    'clerk',
    '--config',
    config,
  );
  expect(JSON.stringify(await send('tools/list'))).toMatch(/"look".*"pay".*"countersign_wait"/);
  const safe = await send('tools/call', { name: 'look', arguments: {} });
  expect(safe).toMatchObject({ content: [{ type: 'text', text: 'look did' }] });
  const gated = await send('tools/call', { name: 'pay', arguments: {} });
  expect(gated).toMatchObject({ isError: true });
  expect(JSON.stringify(gated)).toMatch(/no Temporal server answers at 127\.0\.0\.1:1.* Nothing ran\./);
  expect(stderr()).toContain('the config prints');
  expect(stderr()).toContain('look prints');
  expect(stderr()).not.toContain('pay prints');
  expect(strange).toEqual([]);
});

it('is killed: the next has the answer to what waited, and what ran is in doubt; its client ends: what waited is taken back', async () => {
  const { hostile } = serversIn(folder);
  if (hostile === undefined) throw new Error('no server');
  const mcpLock = join(folder, 'countersign.mcp.lock');
  writeFileSync(mcpLock, await lockServers({ hostile }));
  const options = { agents: [], mcpServers: { hostile }, mcpLock, stateDir: join(folder, 'state') };
  const config = writeConfig(
    'hostile.config.cjs',
    `module.exports = countersign.defineConfig(${JSON.stringify(options)});`,
  );
  const client: Countersign = await connect({ address: testAddress() });
  const effects = join(folder, 'effects');
  const ran = () => (existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n').sort() : []);
  const start = () => startGateway(testAddress(), 'gateway', 'hostile', '--config', config, '--as', 'ann');
  const calls = (how: string) => ({
    ...{ name: 'act', arguments: { how, with: folder } },
    _meta: { 'claudecode/toolUseId': `${folder}-${how}` },
  });
  try {
    const first = start();
    const runs = String((await first.send('tools/call', calls('hang')))['taskId']);
    const waits = String((await first.send('tools/call', calls('echo')))['taskId']);
    await approveNext(client, runs);
    await until('the call to run', () => ran().length === 1);
    await first.kill();
    const next = start();
    const stateOf = (taskId: string) => next.send('tasks/get', { taskId });
    // Whoever decides before the next gateway works is told so, and the decision waits for it.
    await approveNext(client, waits).catch((error: unknown) =>
      expect(error).toMatchObject({ code: 'still_waiting' }),
    );
    const answered = await until('the answer', async () => {
      const task = await stateOf(waits);
      return task['status'] === 'completed' && task;
    });
    expect(JSON.stringify(answered)).toContain(folder);
    await until('the doubt', async () =>
      JSON.stringify(await stateOf(runs)).includes('nobody knows yet whether'),
    );
    const again = next.send('tools/call', calls('hang'));
    await client.resolve(runs, { callId: '1.1', resolution: 'did-not', approver: 'ann' });
    await until('the end', async () => (await stateOf(runs))['status'] === 'completed');
    await again;
    expect(await stateOf(runs)).toMatchObject({ result: { isError: true } });
    // A client without tasks, whose call has no id, takes it back when it ends.
    const args = { how: 'count', with: folder };
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': {} };
    next.send('tools/call', { name: 'act', arguments: args, _meta }).catch(() => undefined);
    // Turns of other test files wait on the same server, for a tool of the same name.
    const ofThis = `how=count with=${folder}`;
    const turn = await until(
      'the request',
      async () =>
        (await client.inbox({ limit: Infinity })).find(({ summary }) => summary.includes(ofThis))?.turn,
    );
    await next.leave();
    expect(await client.view(turn)).toMatchObject({ status: 'cancelled' });
    expect(next.stderr()).not.toContain('could not be withdrawn');
    expect(ran()).toEqual(['echo', 'hang']);
    expect(next.strange).toEqual([]);
  } finally {
    await client.close();
  }
});

describe('in front of a server of the official conformance suite of MCP', () => {
  const SERVER = join(__dirname, 'conformance-server.cjs');
  const TOOLS = [
    'test_simple_text',
    'test_image_content',
    'test_audio_content',
    'test_embedded_resource',
    'test_multiple_content_types',
    'test_tool_with_progress',
    'test_error_handling',
  ];
  /** What needs a thing that the gateway does not offer, and says so in docs/mcp-gateway.md. */
  const UNDECLARED = [
    'logging-set-level',
    'completion-complete',
    'tools-call-with-logging',
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-subscribe',
    'resources-unsubscribe',
    'resources-templates-read',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ];
  const held = useGateway(
    {
      mcpTools: Object.fromEntries(
        TOOLS.map((name) => [`suite__${name}`, { safety: 'safe', effect: 'pure' }]),
      ),
      hookTools: { Bash: {} },
    },
    {
      served: { server: 'suite' },
      // Who waits at all gets a task.
      hold: { first: 0 },
      servers: () => ({ suite: { command: process.execPath, args: [SERVER] } }),
    },
  );
  let proxy: Server;
  afterAll(() => proxy.close());

  /** The suite has no token, so this adds one. A host that is not its own goes on as it came. */
  const startProxy = async (): Promise<string> => {
    const { http, tokens } = held.here;
    const to = new URL(http.url);
    proxy = createServer((incoming, outgoing) => {
      const own = incoming.headers.host?.endsWith(`:${portOf(proxy)}`) === true;
      const headers = {
        ...incoming.headers,
        ...(own && { host: to.host }),
        ...(own && incoming.headers.origin && { origin: to.origin }),
        authorization: `Bearer ${tokens['ann'] ?? ''}`,
      };
      const { method, url: path } = incoming;
      const onward = request({ hostname: to.hostname, port: to.port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      outgoing.on('close', () => onward.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${portOf(proxy)}/mcp`;
  };

  it('passes the suite, but for what is not offered', async () => {
    const baseline = join(folder, 'undeclared.yml');
    writeFileSync(baseline, ['server:', ...UNDECLARED.map((name) => `  - ${name}`)].join('\n'));
    const suite = join('..', 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
    const args = ['server', '--url', await startProxy(), '--expected-failures', baseline];
    const printed = await runOnNode22(suite, ...args).catch(
      (error: { stdout?: string }) => error.stdout ?? '',
    );
    for (const scenario of ['server-initialize', 'ping', 'tools-list', 'tools-call-with-progress'])
      expect(printed).toContain(scenario);
    expect(printed).toContain('Baseline check passed');
  });

  it('gives the official client tasks, which it polls, cancels and hands on, and which nobody else has', async () => {
    const { http, tokens, client, place } = held.here;
    const turnOf = (key: string): string =>
      placeOfCall({ who: 'ann', tool: 'suite__pay', arguments: { key }, key: ['mcp', key] }, place).turn;
    const decided = async (key: string, decide: typeof approveNext) => {
      const turn = turnOf(key);
      await until(`the turn of ${key}`, () => client.view(turn).catch(() => undefined), 120);
      await decide(client, turn);
    };
    const settings = JSON.stringify({ url: http.url, tokens });
    const [printed] = await Promise.all([
      runOnNode22(join('gateway', 'tasks-client.mjs'), settings),
      decided('approved', approveNext),
      decided('denied', denyNext),
      decided('handed-on', approveNext),
    ]);
    const [waited, paid] = [
      { kind: 'task', states: ['working', 'completed'] },
      { status: 'completed', isError: false, texts: 'paid' },
    ];
    const refusal = `there is no such task ${turnOf('cancelled')}`;
    expect(JSON.parse(printed)).toEqual({
      approved: { ...waited, ...paid },
      denied: { ...waited, ...paid, isError: true, texts: expect.stringContaining('denied this call') },
      cancelled: {
        ...{ refusals: [expect.stringContaining(refusal), expect.stringContaining(refusal)] },
        ...{
          kind: 'task',
          states: expect.arrayContaining(['working']),
          status: 'cancelled',
          isError: false,
          texts: '',
        },
      },
      handedOn: { ...waited, ...paid },
      safe: { kind: 'immediate', states: [], status: 'completed', isError: false, texts: expect.any(String) },
    });
    expect(await client.view(turnOf('cancelled'))).toMatchObject({ status: 'cancelled' });
  });

  describe('the command of a hook', () => {
    let config: string;
    beforeAll(() => {
      const options = { agents: [], hookTools: { Bash: {} }, taskQueue: held.here.place.taskQueue };
      config = writeConfig(
        'hook.config.cjs',
        `module.exports = countersign.defineConfig(${JSON.stringify(options)});`,
      );
    });

    const event = (id: string): string =>
      JSON.stringify({
        ...{ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' } },
        ...{ session_id: folder, tool_use_id: id },
      });
    const turnOf = (id: string): string => {
      const call = {
        who: 'ann',
        tool: 'agent__bash',
        arguments: { command: 'ls' },
        key: ['hook', folder, id],
      };
      return placeOfCall(call, held.here.place).turn;
    };
    const away = '127.0.0.1:1';
    const approve = (turn: string) => approveNext(held.here.client, turn);
    const change = (turn: string) => approveNext(held.here.client, turn, { arguments: { command: 'ls -a' } });
    const deny = (turn: string) => denyNext(held.here.client, turn, { reason: 'not that' });
    const output = (permissionDecision: string, reason: string, updatedInput?: object) => ({
      hookEventName: 'PreToolUse',
      permissionDecision,
      permissionDecisionReason: expect.stringContaining(reason),
      ...(updatedInput && { updatedInput }),
    });

    it.each<[string, string, typeof approve | undefined, { code: number; hook?: object; err?: string }]>([
      [
        'claude-code',
        'an approval',
        approve,
        { code: 0, hook: output('allow', 'Permitted.', { command: 'ls' }) },
      ],
      [
        'claude-code',
        'a change',
        change,
        { code: 0, hook: output('allow', 'changed', { command: 'ls -a' }) },
      ],
      ['claude-code', 'a denial', deny, { code: 0, hook: output('deny', 'not that') }],
      ['claude-code', 'no server', undefined, { code: 0, hook: output('deny', `answers at ${away}`) }],
      ['codex', 'an approval', approve, { code: 0 }],
      ['codex', 'a change', change, { code: 2, err: 'Make it again with: {"command":"ls -a"}' }],
      ['codex', 'a denial', deny, { code: 2, err: 'not that' }],
      ['codex', 'no server', undefined, { code: 2, err: `answers at ${away}` }],
    ])('answers %s after %s', async (agent, what, decide, { code, hook, err = '' }) => {
      const id = `${agent} ${what}`;
      const place = ['--address', decide === undefined ? away : testAddress(), '--as', 'ann'];
      const command = ['hook', agent, '--config', config, '--no-worker'];
      const { ended } = startCli([...place, ...command], { input: event(id) });
      if (decide !== undefined) {
        const turn = turnOf(id);
        await until(`the turn of ${id}`, () => held.here.client.view(turn).catch(() => undefined));
        await decide(turn);
      }
      const found = await ended;
      expect(found).toMatchObject({ code, err: expect.stringContaining(err) });
      if (hook === undefined) expect(found.out).toBe('');
      else expect(JSON.parse(found.out)).toEqual({ hookSpecificOutput: hook });
    });
  });
});

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
