import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { bundleWorkflows } from '../../src/worker/bundle-workflows';
import { connect, type Countersign } from '../../src/client';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { send } from '../support/turns';
import { until } from '../support/until';

/** The limit of Temporal Cloud. The server ends a workflow whose memo is over it. */
const LIMIT = 'limit.memoSize.error=40960';
const KB = 1_000;
let fixture: Fixture;
/** On a server with the default limit, 2 MiB. */
let unlimited: Fixture;
let client: Countersign;
let directory: string;

const NAMES = Array.from({ length: 15 }, (_, n) => String(n).padEnd(990, 'n'));
const [ANN] = NAMES;
/** A form that makes a question as long as it may be. */
const FORM = {
  type: 'object',
  properties: { name: { type: 'string', enum: NAMES } },
  required: ['name'],
};
const ask = {
  ...defineTool({
    ...{ name: 'ask', description: 'asks', timeout: '60s' },
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    handler: async ({ n }, context) => {
      const reply = await context.ask?.({ text: `Who is ${String(n)}?`, form: FORM });
      return JSON.stringify(reply);
    },
  }),
  askMs: 600_000,
};
const pay = defineTool({
  ...{ name: 'pay', description: 'pays', safety: 'dangerous', handler: () => 'paid' },
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-memo-'));
  const workflowBundle = join(directory, 'workflows.js');
  const workflowsPath = require.resolve('../fixtures/gate-workflows.ts');
  const { code } = await bundleWorkflows({ workflowsPath, logger: new DefaultLogger('ERROR', () => {}) });
  await writeFile(workflowBundle, code);
  const call = (name: string, n: number) => ({ name, arguments: { n } });
  const calls = [...Array(58).keys()].map((n) => call('pay', n));
  const questions = [...Array(6).keys()].map((n) => call('ask', n));
  const model = scriptedModel([{ toolCalls: [...questions, ...calls] }, { text: 'done' }]);
  const agents = [
    defineAgent({ name: 'asker', instructions: 'x', model, tools: [ask, pay], order: 'parallel' }),
  ];
  fixture = await startFixture({ ownServer: { dynamicConfig: [LIMIT] }, agents, worker: { workflowBundle } });
  unlimited = await startFixture({ agents, worker: { workflowBundle } });
  client = await connect({ client: fixture.client });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Starts a workflow that has a memo of its own. */
const start = (type: string, ...args: unknown[]): Promise<TurnHandle> => startOn(fixture, type, ...args);

const startOn = (on: Fixture, type: string, ...args: unknown[]): Promise<TurnHandle> =>
  on.client.workflow.start(type, {
    ...{ args, taskQueue: on.taskQueue, workflowId: `memo-${randomUUID()}` },
    memo: { mine: 'm'.repeat(10 * KB) },
  });

const pending = (handle: TurnHandle, count: number): Promise<unknown> =>
  until(`${count} that wait`, async () => {
    const { status, searchAttributes } = await handle.describe();
    expect(status.name).toBe('RUNNING');
    return searchAttributes['CountersignPending']?.[0] === count;
  });

it('a gate has a hundred long requests open beside a memo of its own, and each can be read whole', async () => {
  const handle = await start('many', 100, 14 * KB);
  await pending(handle, 100);
  const { requests } = await client.view(handle.workflowId);
  expect(requests).toHaveLength(100);
  expect(requests.every(({ arguments: { text } }) => String(text).length === 14 * KB)).toBe(true);
  expect(Object.keys((await handle.describe()).memo ?? {})).not.toContain('gated.1.1');
  await handle.terminate();
});

it('a turn asks four long questions at a time beside its requests, and takes decisions meanwhile', async () => {
  const handle = await start('agentTurn', { agent: 'asker', prompt: 'x' });
  await pending(handle, 62);
  const verdict = await client.decide(handle.workflowId, {
    ...{ callId: '1.7', decision: 'denied', approver: 'ann' },
  });
  expect(verdict).toMatchObject({ status: 'accepted' });
  const asked = new Set<string>();
  await until('all six questions to be answered', async () => {
    const { questions } = await client.view(handle.workflowId);
    expect(questions.length).toBeLessThanOrEqual(4);
    for (const { callId } of questions) {
      asked.add(callId);
      await send(handle, 'answer', { callId, answer: 'answered', content: { name: ANN ?? '' } }).catch(
        () => undefined,
      );
    }
    return asked.size === 6;
  });
  await pending(handle, 57);
  await until('all six calls to end', async () => {
    const { calls } = await client.view(handle.workflowId);
    return (
      calls.filter(({ callId, tool, phase }) => tool === 'ask' && phase === 'done' && !callId.includes('.0.'))
        .length === 6
    );
  });
  await handle.terminate();
});

it('a gate has more open at the default limit than its memo could hold', async () => {
  const handle = await startOn(unlimited, 'many', 160, 14 * KB);
  await pending(handle, 160);
  await handle.terminate();
});

it('a turn has as much open at the default limit', async () => {
  const handle = await startOn(unlimited, 'agentTurn', { agent: 'asker', prompt: 'x' });
  await pending(handle, 62);
  const { requests, questions } = await (await connect({ client: unlimited.client })).view(handle.workflowId);
  expect([requests.length, questions.length]).toEqual([58, 4]);
  await handle.terminate();
});

it('a request waits beside a memo of its own that is almost full', async () => {
  const handle = await fixture.client.workflow.start('many', {
    ...{ args: [1, 14 * KB], taskQueue: fixture.taskQueue, workflowId: `memo-${randomUUID()}` },
    memo: { mine: 'm'.repeat(25 * KB) },
  });
  await pending(handle, 1);
  await handle.terminate();
});

it('a gate goes on when many requests under long ids expire together', async () => {
  const handle = await start('expiring', 600);
  await expect(handle.result()).resolves.toBe(600);
});

it('a session takes, refuses and keeps long messages while its turn asks', async () => {
  const handle = await start('agentSession', { agent: 'asker' });
  const session = client.session(handle.workflowId);
  for (let n = 0; n < 30; n++)
    await handle.signal('send', { messageId: String(n).padEnd(64, 'm'), text: '' });
  for (let n = 0; n < 4; n++) await session.send('w'.repeat(10 * KB));
  const { turn = '', refused } = await until('what it refused', async () => {
    const now = await session.state();
    return now.refused?.length === 20 && now;
  });
  expect(refused?.at(-1)).toMatchObject({ messageId: '29'.padEnd(64, 'm'), code: 'malformed' });
  await pending(fixture.client.workflow.getHandle(turn), 62);
  await expect(session.state()).resolves.toMatchObject({ state: 'running', waiting: 3 });
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
});
