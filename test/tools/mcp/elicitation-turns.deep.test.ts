import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { connect, type Countersign, type TurnView } from '../../../src/client';
import { ENDINGS } from '../../../src/contract/call-texts';
import type { Json, JsonObject } from '../../../src/contract/json';
import { defineAgent } from '../../../src/tools/define-agent';
import { scriptedModel, type ScriptedStep } from '../../../src/models/scripted';
import type { McpServers } from '../../../src/tools/mcp/declare';
import { ELICITATION_MS } from '../../../src/tools/mcp/elicitation';
import { formatLock } from '../../../src/tools/mcp/lock-file';
import { startTestEnvironment, type TestEnvironment, waitForEnd } from '../../../src/testing';
import { root } from '../../support/build';
import { serveOverHttp } from '../../support/mcp-over-http';
import { testAddress, testBundle, testConnection } from '../../support/server';
import { listedItem } from '../../support/turns';
import { until } from '../../support/until';
import { allow, HOSTILE, hostile } from './support';

const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const mcpLock = join(folder, 'countersign.mcp.lock');
const args = ['Does as it is asked.', join(folder, 'effects')];
const mcpServers = {
  asks: { command: process.execPath, args: [HOSTILE, ...args], elicitation: true },
  mute: { command: process.execPath, args: [HOSTILE, ...args] },
} satisfies McpServers;

const PAGES: JsonObject = {
  message: 'How many pages?',
  requestedSchema: {
    type: 'object',
    properties: { pages: { type: 'integer', minimum: 1, default: 2 }, color: { type: 'boolean' } },
    required: ['pages'],
  },
};
const SECRET: JsonObject = {
  message: 'Your password?',
  requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
};

const asking = (params: Json, server = 'asks'): ScriptedStep => ({
  toolCalls: [{ name: `${server}__act`, arguments: { how: 'ask', with: params } }],
});
const file = join(folder, 'go');
const leaving = (server: string, then: string): ScriptedStep => ({
  toolCalls: [
    {
      name: `${server}__act`,
      arguments: { how: 'leave', with: { ask: PAGES, then, file: `${file}-${server}-${then}` } },
    },
  ],
});
const said: ScriptedStep = ({ messages }) => ({
  text: messages.flatMap((one) => (one.role === 'tool' ? [one.content] : [])).join('|'),
});
const agent = (name: string, ...steps: ScriptedStep[]) =>
  defineAgent({
    name,
    instructions: 'x',
    model: scriptedModel([...steps, said]),
    tools: ['asks__*', 'mute__*', 'far__*'],
  });

let environment: TestEnvironment;
let client: Countersign;
let bridge: Awaited<ReturnType<typeof serveOverHttp>>;

beforeAll(async () => {
  bridge = await serveOverHttp(process.execPath, [HOSTILE, ...args]);
  const server = hostile(...args);
  const asks = await allow({ ...server, start: { ...server.start, elicitation: true } });
  const far = await allow({
    name: 'far',
    prefix: 'far',
    start: { kind: 'http', url: bridge.url, headers: {}, elicitation: true },
  });
  writeFileSync(mcpLock, formatLock({ version: 1, servers: { asks, mute: await allow(server), far } }));
  environment = await startTestEnvironment({
    server: { address: testAddress(), namespace: 'default' },
    workflowBundle: testBundle(),
    agents: [
      agent('one', asking(PAGES)),
      agent('again', asking(PAGES), asking(PAGES)),
      agent('secret', asking(SECRET)),
      agent('mute', asking(PAGES, 'mute')),
      ...['asks', 'far'].flatMap((server) =>
        ['cancel', 'anew', 'answer', 'end'].map((then) => agent(`${server}-${then}`, leaving(server, then))),
      ),
    ],
    mcpServers: { ...mcpServers, far: { url: bridge.url, elicitation: true } },
    mcpTools: {
      asks__act: { safety: 'cautious', effect: 'unsafe' },
      far__act: { safety: 'cautious', effect: 'unsafe' },
      mute__act: { safety: 'cautious', effect: 'unsafe' },
    },
    mcpLock,
  });
  ({ client } = environment);
});

afterAll(async () => {
  await environment.stop();
  await bridge.close();
  rmSync(folder, { recursive: true, force: true });
});

const refused = (code: string): object => ({ status: 'refused', verdict: { accepted: false, code } });
const open = (id: string, callId: string, using = client): Promise<TurnView> =>
  until(
    `question ${callId}`,
    async () => {
      const view = await using.view(id);
      return view.questions.some((question) => question.callId === callId) && view;
    },
    90,
  );

describe('a server that asks in the middle of a call', () => {
  it('has a question in the inbox, says who asks, and gets the answer', async () => {
    const { turn: id } = await environment.start('one', 'go');
    const view = await open(id, '1.1.0.1');
    const [question] = view.questions;
    expect(question).toMatchObject({ tool: 'asks__act', deadline: expect.any(String) });
    expect(question?.question.text).toContain('The MCP server "asks" asks this');
    const waits = Date.parse(question?.deadline ?? '') - Date.parse(question?.at ?? '');
    expect(waits).toBeGreaterThan(0);
    expect(waits).toBeLessThanOrEqual(ELICITATION_MS);
    expect(view).toMatchObject({ status: 'waiting', requests: [] });
    expect(view.calls.map(({ callId, phase }) => [callId, phase])).toEqual([
      ['1.1', 'running'],
      ['1.1.0.1', 'question'],
    ]);
    const item = await listedItem(client, id, { agent: 'one' });
    expect(item).toMatchObject({ kind: 'question', callId: '1.1.0.1' });
    const unfit = { callId: '1.1.0.1', answer: 'answered', content: { pages: 0 } } as const;
    expect(await client.answer(id, unfit)).toMatchObject(refused('validation'));
    const decision = { callId: '1.1.0.1', decision: 'approved' } as const;
    expect(await client.decide(id, decision)).toMatchObject(refused('malformed'));
    const taken = { ...unfit, content: { color: true }, approver: 'ann' };
    expect(await client.answer(id, taken)).toMatchObject({ verdict: { accepted: true } });
    const ended = await waitForEnd(client, id);
    expect(ended.answer).toBe('{"action":"accept","content":{"pages":2,"color":true}}');
    expect(ended).toMatchObject({ questions: [], inDoubt: [] });
    expect(ended.calls.map(({ callId, phase }) => [callId, phase])).toEqual([
      ['1.1', 'done'],
      ['1.1.0.1', 'done'],
    ]);
    expect(await client.answer(id, { ...taken, approver: 'bob' })).toMatchObject({
      verdict: { accepted: false },
    });
  });

  it('hears that a person declined, and may ask again in the next call', async () => {
    const { turn: id } = await environment.start('again', 'go');
    await open(id, '1.1.0.1');
    await client.answer(id, { callId: '1.1.0.1', answer: 'declined', reason: 'not today' });
    await open(id, '2.1.0.1');
    await client.answer(id, { callId: '2.1.0.1', answer: 'answered', content: { pages: 7 } });
    const { answer, calls } = await waitForEnd(client, id);
    expect(answer).toBe('{"action":"decline"}|{"action":"accept","content":{"pages":7}}');
    expect(calls.map(({ outcome }) => outcome)).toEqual(['done', 'denied', 'done', 'done']);
  });

  it('cannot ask for a secret, and nobody is asked', async () => {
    const { turn: id } = await environment.start('secret', 'go');
    const { answer, calls } = await waitForEnd(client, id);
    expect(answer).toContain('a person is not asked for secrets');
    expect(calls).toHaveLength(1);
  });

  it('cannot ask where the config does not allow it', async () => {
    const { turn: id } = await environment.start('mute', 'go');
    expect((await waitForEnd(client, id)).answer).toContain('Method not found');
  });

  it('asks no more once the turn is cancelled, and the question is closed', async () => {
    const { turn: id } = await environment.start('one', 'go');
    await open(id, '1.1.0.1');
    await client.cancel(id);
    const view = await until('the question to be closed', async () => {
      const now = await client.view(id);
      return now.questions.length === 0 && now;
    });
    expect(view.calls.find(({ callId }) => callId === '1.1.0.1')?.phase).not.toBe('question');
    const late = { callId: '1.1.0.1', answer: 'answered', content: { pages: 1 } } as const;
    expect(await client.answer(id, late)).toMatchObject({ verdict: { accepted: false } });
    await until('its end', async () => {
      const now = await client.view(id);
      if (now.inDoubt.length > 0) await client.abandon(id, { reason: 'cancelled' });
      return now.endedAt !== null;
    });
  });
});

it('takes no question that does not come from the activity of a call', async () => {
  const { turn: id } = await environment.start('one', 'go');
  const view = await open(id, '1.1.0.1');
  const connection = await testConnection();
  const handle = new Client({ connection }).workflow.getHandle(id);
  const question = { text: 'Your token?', form: { type: 'object', properties: { a: { type: 'string' } } } };
  const [key = ''] = (view.questions[0]?.callKey ?? '').split(':');
  const forged = {
    callId: '1.1',
    callKey: `${key}:1.1`,
    generation: 0,
    secret: 'x',
    attempt: 2,
    number: 1,
    question,
  };
  for (const message of [forged, { ...forged, callId: '9.9' }, {}, null, 'x', { question: 1 }])
    await expect(handle.executeUpdate('ask', { args: [message] })).rejects.toThrow();
  expect((await client.view(id)).questions).toHaveLength(1);
  await client.answer(id, { callId: '1.1.0.1', answer: 'declined' });
  await waitForEnd(client, id);
  await connection.close();
});

describe.each([
  ['over standard input and output', 'asks'],
  ['over streamable HTTP', 'far'],
])('a server that withdraws its question %s', (_over, server) => {
  const started = async (then: string): Promise<string> => {
    const { turn: id } = await environment.start(`${server}-${then}`, 'go');
    await open(id, '1.1.0.1');
    writeFileSync(`${file}-${server}-${then}`, '');
    return id;
  };
  const closed = (id: string): Promise<TurnView> =>
    until('the withdrawal', async () => {
      const now = await client.view(id);
      return now.calls.find(({ callId }) => callId === '1.1.0.1')?.phase === 'done' && now;
    });
  const late = { callId: '1.1.0.1', answer: 'answered', content: { pages: 1 } } as const;
  const WITHDRAWN = {
    callId: '1.1.0.1',
    result: { error: { code: 'cancelled', message: ENDINGS.askerWithdrew.message } },
  };

  it('leaves the inbox while its call goes on, and a late answer is refused', async () => {
    const id = await started('cancel');
    const view = await closed(id);
    expect(view).toMatchObject({ questions: [], calls: [{ phase: 'running' }, WITHDRAWN] });
    const inbox = await client.inbox({ agent: `${server}-cancel`, limit: Infinity });
    expect(inbox.filter(({ turn }) => turn === id)).toEqual([]);
    expect(await client.answer(id, late)).toMatchObject(refused('expired'));
    writeFileSync(`${file}-${server}-cancel.end`, '');
    expect(await waitForEnd(client, id)).toMatchObject({ answer: 'went on', inDoubt: [] });
  });

  it('may ask anew at once', async () => {
    const id = await started('anew');
    const view = await open(id, '1.1.0.2');
    expect(view.questions.map(({ callId }) => callId)).toEqual(['1.1.0.2']);
    await client.answer(id, { ...late, callId: '1.1.0.2' });
    const ended = await waitForEnd(client, id);
    expect(ended.answer).toBe('{"action":"accept","content":{"pages":1}}');
    expect(ended.calls.map(({ outcome }) => outcome)).toEqual(['done', 'cancelled', 'done']);
    expect(ended.calls[1]).toMatchObject(WITHDRAWN);
  });

  it('ends its call without the answer', async () => {
    const ended = await waitForEnd(client, await started('answer'));
    expect(ended).toMatchObject({ answer: 'went on', questions: [], calls: [{}, WITHDRAWN] });
  });

  it('ends: its call is in doubt, and nobody is asked any more', async () => {
    const id = await started('end');
    const view = await until('the doubt', async () => {
      const now = await client.view(id);
      return now.inDoubt.length > 0 && now;
    });
    expect(view).toMatchObject({ questions: [], calls: [{ phase: 'in_doubt' }, WITHDRAWN] });
    expect(await client.answer(id, late)).toMatchObject(refused('expired'));
    await client.resolve(id, { callId: '1.1', resolution: 'did-not' });
    await waitForEnd(client, id);
  });
});

describe('a worker that is killed while a person is asked', () => {
  const taskQueue = `test-${randomUUID()}`;
  const workers: ChildProcess[] = [];
  const config = join(folder, 'config.cjs');

  const startWorker = (): ChildProcess => {
    const cli = join(root, 'bin', 'countersign.js');
    const words = ['worker', config, '--address', testAddress()];
    const worker = spawn(process.execPath, [cli, ...words], { stdio: 'ignore', cwd: folder });
    workers.push(worker);
    return worker;
  };

  beforeAll(() => {
    const script = [{ toolCalls: [{ name: 'asks__act', arguments: { how: 'ask', with: PAGES } }] }];
    writeFileSync(
      config,
      `const { defineAgent, defineConfig, scriptedModel } = require(${JSON.stringify(join(root, 'lib'))});
const model = scriptedModel([...${JSON.stringify(script)}, { text: 'done' }]);
const agents = [defineAgent({ name: 'killed', instructions: 'x', model, tools: ['asks__*'] })];
module.exports = defineConfig({
  agents,
  taskQueue: ${JSON.stringify(taskQueue)},
  mcpServers: ${JSON.stringify(mcpServers)},
  mcpLock: ${JSON.stringify(mcpLock)},
  mcpTools: { asks__act: { safety: 'cautious', effect: 'unsafe' } },
  stateDir: ${JSON.stringify(join(folder, 'state'))},
  log: { calls: false },
});`,
    );
  });

  afterAll(() => {
    for (const worker of workers) worker.kill('SIGKILL');
  });

  it('leaves its call in doubt, and the question closed', async () => {
    const worker = startWorker();
    const own = await connect({ address: testAddress() });
    const { turn: id } = await own.start({ agent: 'killed', prompt: 'go', taskQueue });
    await open(id, '1.1.0.1', own);
    worker.kill('SIGKILL');
    startWorker();
    const view = await until(
      'the doubt',
      async () => {
        const now = await own.view(id);
        return now.inDoubt.length > 0 && now;
      },
      120,
    );
    expect(view.questions).toEqual([]);
    const late = { callId: '1.1.0.1', answer: 'answered', content: { pages: 1 } } as const;
    expect(await own.answer(id, late)).toMatchObject(refused('expired'));
    await own.resolve(id, { callId: '1.1', resolution: 'did-not' });
    const ended = await waitForEnd(own, id);
    expect(ended.answer).toBe('done');
    await own.close();
  });
});
