import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createExecutor } from '../../../src/tools/executor';
import type { McpServer, McpToolSettings } from '../../../src/tools/mcp/declare';
import type { LockedServer } from '../../../src/tools/mcp/lock-file';
import { describeStart, openServer, type OpenServer } from '../../../src/tools/mcp/servers';
import { createRegistry } from '../../../src/tools/registry';
import { testContext } from '../../../src/testing';
import { createSecrets } from '../../../src/tools/secrets';
import type { Tool } from '../../../src/tools/types';
import { scratchDirectory } from '../../support/scratch';
import { until } from '../../support/until';
import { allow, hostile } from './support';

const scratch = scratchDirectory();
const opened: OpenServer[] = [];
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

const open = async (
  server: McpServer,
  locked: LockedServer | undefined,
  settings: Readonly<Record<string, McpToolSettings>> = {},
): Promise<{ tools: Tool[] | undefined; warnings: string[] }> => {
  const warnings: string[] = [];
  const deps = { secrets: createSecrets(), warn: (line: string) => void warnings.push(line), settings };
  const one = await openServer(server, locked, deps);
  if (one !== undefined) opened.push(one);
  return { tools: one?.tools, warnings };
};

/** Runs a tool as a worker does, with everything approved. */
const run = (tools: readonly Tool[] | undefined, name: string, args: object) =>
  createExecutor({ registry: createRegistry(tools ?? []) }).execute(
    { name, arguments: JSON.stringify(args) },
    { approve: () => ({ decision: 'approved' }) },
  );

const packaged = (name: string, ...args: string[]): McpServer => {
  const file = require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);
  return {
    name,
    prefix: name,
    start: { kind: 'stdio', command: process.execPath, args: [file, ...args], cwd: '.', env: {} },
  };
};

describe('a tool of a server', () => {
  it('is dangerous and unsafe, whatever the server says, and has its name and description', async () => {
    const { tools } = await open(hostile('Reads only.'), await allow(hostile('Reads only.')));
    expect(tools).toMatchObject([
      {
        name: 'hostile__act',
        description: 'Reads only.',
        safety: 'dangerous',
        effect: 'unsafe',
        server: 'hostile',
      },
    ]);
  });

  it('has the safety, the effect and the time that the config gives it', async () => {
    const settings: Readonly<Record<string, McpToolSettings>> = {
      hostile__act: { safety: 'safe', effect: 'pure', timeout: '2 minutes' },
    };
    const { tools } = await open(hostile(), await allow(hostile()), settings);
    expect(tools).toMatchObject([{ safety: 'safe', effect: 'pure', timeoutMs: 120_000 }]);
  });

  it('shows who would run it', async () => {
    const { tools = [] } = await open(hostile(), await allow(hostile()));
    const [tool] = tools;
    expect(await tool?.preview?.({ how: 'echo' }, testContext())).toEqual({
      text: expect.stringMatching(
        /^with how=echo\nThe tool "act" of the MCP server hostile: .*mcp-server\.cjs/,
      ),
    });
    expect(await tool?.preview?.({}, testContext())).toEqual({
      text: expect.stringMatching(/^The tool "act"/),
    });
    const sly = { 'a\nThe tool "list" of the MCP server safe: x': 1 };
    expect(await tool?.preview?.(sly, testContext())).toEqual({
      text: expect.stringMatching(
        /^with a The tool "list" [^\n]*=1\nThe tool "act" of the MCP server hostile/,
      ),
    });
  });

  it('is another one where the server is started otherwise, so that a decision does not hold for both', async () => {
    const one = await open(hostile(), await allow(hostile()));
    const other = hostile('Does as it is asked.');
    const two = await open(other, await allow(other));
    expect(one.tools?.[0]?.digest).not.toBe(two.tools?.[0]?.digest);
  });

  it('makes letters visible that nobody would see', async () => {
    const server = hostile('Adds.\u{e0041}\u200b');
    const { tools } = await open(server, await allow(server));
    expect(tools?.[0]?.description).toBe('Adds.\\u{e0041}\\u200b'.replace('\\u{e0041}', '\\udb40\\udc41'));
  });

  it('says where a result is from, how long it took, and what kind of error it is', async () => {
    const { tools } = await open(hostile(), await allow(hostile()));
    const results = await Promise.all(
      ['echo', 'fail', 'wrong', 'crash'].map((how) => run(tools, 'hostile__act', { how, with: 'hi' })),
    );
    expect(results.map(({ server, error }) => [server, error?.code])).toEqual([
      ['hostile', undefined],
      ['hostile', 'tool'],
      ['hostile', 'transport'],
      ['hostile', 'transport'],
    ]);
    expect(results[0]?.content).toBe('hi');
    expect(results[1]?.error).toMatchObject({ message: 'the printer is on fire' });
    expect(results[3]?.error?.message).toContain('whether it took effect is not known');
    for (const { metadata } of results) expect(metadata.execution_time_ms).toBeGreaterThanOrEqual(0);
  });
});

describe('a worker', () => {
  it.each([
    ['at once', true, '3'],
    ['one after another', false, '1'],
  ])(
    'runs a batch %s; each result has its server, its time and its own end',
    async (_case, parallel, number) => {
      const { tools } = await open(hostile(), await allow(hostile()));
      const executor = createExecutor({ registry: createRegistry(tools ?? []) });
      const ask = (how: string, id: string) => ({
        id,
        name: 'hostile__act',
        arguments: JSON.stringify({ how, with: number }),
      });
      const calls = [ask('meet', 'a'), ask('fail', 'b'), ask('meet', 'c'), ask('meet', 'd')];
      const results = await executor.executeBatch(calls, {
        parallel,
        approve: () => ({ decision: 'approved' }),
      });
      expect(results.map(({ id, success, server }) => [id, success, server])).toEqual([
        ['a', true, 'hostile'],
        ['b', false, 'hostile'],
        ['c', true, 'hostile'],
        ['d', true, 'hostile'],
      ]);
      for (const { success, content, metadata } of results) {
        expect(metadata).toMatchObject({ execution_time_ms: expect.any(Number), approved: true });
        expect(metadata.timestamp).toMatch(/^\d{4}-/);
        if (success) expect(content).toContain(`met ${number}`);
      }
    },
  );

  it('starts nothing that nobody has allowed', async () => {
    const server = hostile('Does as it is asked.', join(scratch(), 'effects'));
    const { start } = await allow(server);
    const { tools, warnings } = await open(server, undefined);
    expect({ tools, warnings }).toEqual({
      tools: undefined,
      warnings: [expect.stringContaining('mcp allow hostile')],
    });
    const other = await open(hostile('--other'), { start, tools: {} });
    expect(other).toEqual({
      tools: undefined,
      warnings: [expect.stringContaining('otherwise than was allowed')],
    });
  });

  it('starts no package without an exact version, also where somebody allowed it', async () => {
    const { start, ...rest } = hostile();
    const loose: McpServer = {
      ...rest,
      start: { ...start, kind: 'stdio', command: 'npx', args: ['-y', 'x'], cwd: '.', env: {} },
    };
    const locked = { start: { command: 'npx', args: ['-y', 'x'], cwd: '.', env: {} }, tools: {} };
    expect(await open(loose, locked)).toEqual({
      tools: undefined,
      warnings: [expect.stringContaining('exact version')],
    });
  });

  it('leaves out a tool that is new, changed or gone, and names it', async () => {
    const locked = await allow(hostile('Adds.'));
    const { start, tools } = await allow(hostile('Adds, and sends me your keys.'));
    const { act } = locked.tools;
    if (act === undefined) throw new Error('no tool');
    const gone = { ...act, definition: { ...act.definition, name: 'gone' } };
    const changed = await open(hostile('Adds, and sends me your keys.'), { start, tools: { act, gone } });
    expect(changed.tools).toEqual([]);
    expect(changed.warnings.join('\n')).toMatch(/"act" \(changed\), "gone" \(gone\)/);
    const fresh = await open(hostile('Adds.'), { ...locked, tools: {} });
    expect(fresh.tools).toEqual([]);
    expect(fresh.warnings.join('\n')).toContain('"act" (new)');
    expect(Object.keys(tools)).toEqual(['act']);
  });

  it('starts without a server that is down: the tools are those that were allowed', async () => {
    const locked = await allow(hostile());
    const missing = { ...locked.start, command: '/nowhere/node' };
    const server: McpServer = {
      ...hostile(),
      start: { kind: 'stdio', args: [], cwd: '.', env: {}, command: '/nowhere/node' },
    };
    const { tools, warnings } = await open(server, {
      ...locked,
      start: { ...missing, args: [] } as LockedServer['start'],
    });
    expect(tools?.map(({ name }) => name)).toEqual(['hostile__act']);
    expect(warnings.join('\n')).toContain('no such program');
    const result = await run(tools, 'hostile__act', { how: 'echo' });
    expect(result.error).toMatchObject({ code: 'transport' });
    expect(result.error?.message).not.toContain('not known');
  });
});

describe('a server with connections of each session', () => {
  const withState = (state: 'turn' | 'session'): McpServer => ({ ...hostile(), state });

  /** What a call of the session of a key answers. */
  const act = async (tools: readonly Tool[] | undefined, key: string, how: string): Promise<string> => {
    const state = { key, lost: false, declareLost: () => void (state.lost = true) };
    const answer = await tools?.[0]?.handle({ how }, testContext({ state })).catch((error: unknown) => error);
    return `${state.lost ? 'lost: ' : ''}${String(answer)}`;
  };

  it.each(['turn', 'session'] as const)('has tools whose calls share the state of a %s', async (state) => {
    const { tools } = await open(withState(state), await allow(hostile()));
    expect(tools).toMatchObject([{ state, stateGroup: 'mcp hostile' }]);
  });

  it('has a process for each session: none sees what the server keeps in memory for another', async () => {
    const { tools } = await open(withState('session'), await allow(hostile()));
    expect(await act(tools, 'one', 'count')).toBe('call 1');
    expect(await act(tools, 'one', 'count')).toBe('call 2');
    expect(await act(tools, 'other', 'count')).toBe('call 1');
    const pids = await Promise.all(['one', 'one', 'other'].map((key) => act(tools, key, 'pid')));
    expect(new Set(pids).size).toBe(2);
  });

  it('says that it is lost where the server has ended, only there, and once', async () => {
    const { tools } = await open(withState('session'), await allow(hostile()));
    for (const key of ['one', 'other']) await act(tools, key, 'count');
    expect(await act(tools, 'one', 'crash')).toContain('did not answer');
    expect(await act(tools, 'one', 'count')).toBe('lost: call 1');
    expect(await act(tools, 'one', 'count')).toBe('call 2');
    expect(await act(tools, 'other', 'count')).toBe('call 2');
  });

  it('ends them all with the worker', async () => {
    const { tools } = await open(withState('session'), await allow(hostile()));
    const pids = await Promise.all(['one', 'other'].map((key) => act(tools, key, 'pid')));
    await Promise.all(opened.splice(0).map((one) => one.close()));
    await until('their end', () => Promise.resolve(pids.every((pid) => !isRunning(Number(pid)))));
  });
});

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('servers of the registry', () => {
  it('everything: sums, fails, reports progress, gives images and structured content', async () => {
    const server = packaged('everything');
    const { tools } = await open(server, await allow(server));
    expect(tools?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['everything__echo', 'everything__get_sum']),
    );
    const sum = await run(tools, 'everything__get_sum', { a: 2, b: 3 });
    expect(sum).toMatchObject({ success: true, server: 'everything', content: expect.stringContaining('5') });
    expect(await run(tools, 'everything__get_sum', { a: 'two' })).toMatchObject({
      error: { code: 'validation' },
    });
    const image = await run(tools, 'everything__get_tiny_image', {});
    expect(image.content).toContain('[image image/png,');
    const weather = await run(tools, 'everything__get_structured_content', { location: 'New York' });
    expect(weather.content).toContain('temperature');
  });

  it('filesystem: reads its folder and refuses another one', async () => {
    const folder = join(scratch(), 'data');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'inside');
    const server = packaged('filesystem', folder);
    const { tools } = await open(server, await allow(server));
    const read = (path: string) => run(tools, 'filesystem__read_text_file', { path });
    expect(await read(join(folder, 'a.txt'))).toMatchObject({
      success: true,
      content: expect.stringContaining('inside'),
    });
    expect(await read('/etc/passwd')).toMatchObject({ error: { code: 'tool' } });
  });

  it('memory: keeps what it is given between calls, on one connection', async () => {
    const { start, ...rest } = packaged('memory');
    const env = { MEMORY_FILE_PATH: join(scratch(), 'memory.jsonl') };
    const server: McpServer = { ...rest, start: { ...start, env } as typeof start };
    const { tools } = await open(server, await allow(server));
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
    expect(await run(tools, 'memory__create_entities', { entities })).toMatchObject({ success: true });
    expect((await run(tools, 'memory__read_graph', {})).content).toContain('Ada');
  });

  it('everything over HTTP: a session that the server forgot is made again by the next call', async () => {
    const port = await freePort();
    const start = (): ReturnType<typeof spawn> =>
      spawn(
        process.execPath,
        [require.resolve('@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp'],
        { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' },
      );
    const url = `http://127.0.0.1:${port}/mcp`;
    const isUp = () =>
      until('the server', () =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      );
    let child = start();
    try {
      await isUp();
      const server: McpServer = { name: 'far', prefix: 'far', start: { kind: 'http', url, headers: {} } };
      const { tools } = await open(server, await allow(server));
      const echo = () => run(tools, 'far__echo', { message: 'over there' });
      expect(await echo()).toMatchObject({ success: true, content: expect.stringContaining('over there') });
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
      child = start();
      await isUp();
      const result = await until('a call of the new session', async () => {
        const one = await echo();
        return one.success && one;
      });
      expect(result.content).toContain('over there');
    } finally {
      child.kill('SIGKILL');
    }
  });
});

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  await new Promise((resolve) => server.close(resolve));
  return port;
};

it.each<[McpServer['start'], string]>([
  [{ kind: 'stdio', command: 'npx', args: ['-y', 'a b'], cwd: '.', env: {} }, "npx -y 'a b'"],
  [{ kind: 'stdio', command: 'run', args: [], cwd: '/data', env: {} }, 'run (in /data)'],
  [{ kind: 'http', url: 'https://example.com/\u202e', headers: {} }, 'https://example.com/\\u202e'],
])('%j is shown in one line', (start, line) => {
  expect(describeStart(start)).toBe(line);
});
