import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent } from '../../../src/tools/define-agent';
import { scriptedModel } from '../../../src/models/scripted';
import type { McpServers } from '../../../src/tools/mcp/declare';
import { formatLock } from '../../../src/tools/mcp/lock';
import {
  approveNext,
  startTestEnvironment,
  type TestEnvironment,
  waitForEnd,
  waitForRequest,
} from '../../../src/testing';
import { testAddress, testBundle } from '../../support/server';
import { until } from '../../support/until';
import { allow, HOSTILE, hostile } from './support';

const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const effectsFile = join(folder, 'effects');
const mcpLock = join(folder, 'countersign.mcp.lock');
const args = ['Does as it is asked.', effectsFile];
const mcpServers: McpServers = { hostile: { command: process.execPath, args: [HOSTILE, ...args] } };

const effects = (): string[] =>
  existsSync(effectsFile) ? readFileSync(effectsFile, 'utf8').trim().split('\n') : [];

/** Asks for one call, then answers with what the model was shown: its tools, or the result. */
const agent = (name: string, how: string) =>
  defineAgent({
    name,
    instructions: 'x',
    model: scriptedModel([
      { toolCalls: [{ name: 'hostile__act', arguments: { how, with: 'hello' } }] },
      ({ messages }) => ({ text: messages.flatMap((m) => (m.role === 'tool' ? [m.content] : [])).join('|') }),
    ]),
    tools: ['hostile__*'],
  });

let environment: TestEnvironment;

beforeAll(async () => {
  const server = hostile(...args);
  writeFileSync(mcpLock, formatLock({ version: 1, servers: { hostile: await allow(server) } }));
  environment = await startTestEnvironment({
    server: { address: testAddress(), namespace: 'default' },
    workflowBundle: testBundle(),
    agents: [agent('echo', 'echo'), agent('crash', 'crash'), agent('progress', 'progress')],
    mcpServers,
    mcpLock,
  });
});

beforeEach(() => rmSync(effectsFile, { force: true }));

afterAll(async () => {
  await environment.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('asks a person about a call, shows the server, and runs it once', async () => {
  const { client } = environment;
  const { turn: id } = await environment.start('echo', 'go');
  const request = await waitForRequest(client, id);
  expect(request).toMatchObject({ server: 'hostile' });
  expect(request.preview?.text).toContain('mcp-server.cjs');
  expect(effects()).toEqual([]);
  await approveNext(client, id);
  const view = await waitForEnd(client, id);
  expect(view.answer).toContain('hello');
  expect(view.calls[0]?.result).toMatchObject({ server: 'hostile', success: true });
  expect(effects()).toEqual(['echo']);
});

it('leaves a call in doubt whose server was killed in the middle, and does not send it again', async () => {
  const { client } = environment;
  const { turn: id } = await environment.start('crash', 'go');
  await approveNext(client, id);
  const call = await until('the doubt', async () => {
    const view = await client.view(id);
    return view.calls.find(({ phase }) => phase === 'in_doubt');
  });
  expect(call.callId).toBe('1.1');
  expect(effects()).toEqual(['crash']);
  await client.cancel(id);
});

it('starts a server that died again for the next turn', async () => {
  const { client } = environment;
  const { turn: id } = await environment.start('progress', 'go');
  await approveNext(client, id);
  expect((await waitForEnd(client, id)).answer).toContain('done');
  expect(effects()).toEqual(['progress']);
});

it('runs pure calls of one step at the same time, and keeps server and time of each', async () => {
  const meet = { name: 'hostile__act', arguments: { how: 'meet', with: '3' } };
  const together = await startTestEnvironment({
    server: { address: testAddress(), namespace: 'default' },
    workflowBundle: testBundle(),
    agents: [
      defineAgent({
        name: 'together',
        instructions: 'x',
        model: scriptedModel([{ toolCalls: [meet, meet, meet] }, { text: 'done' }]),
        tools: ['hostile__*'],
      }),
    ],
    mcpServers,
    mcpTools: { hostile__act: { safety: 'safe', effect: 'pure' } },
    mcpLock,
  });
  try {
    const { turn: id } = await together.start('together', 'go');
    const { calls } = await waitForEnd(together.client, id);
    expect(calls.map(({ result }) => result)).toEqual(
      Array(3).fill(
        expect.objectContaining({
          success: true,
          server: 'hostile',
          content: 'met 3',
          metadata: expect.objectContaining({ execution_time_ms: expect.any(Number) }),
        }),
      ),
    );
  } finally {
    await together.stop();
  }
});
