import { z } from 'zod';
import { connect } from '../src/client';
import { defineAgent } from '../src/tools/define-agent';
import { defineTool } from '../src/tools/define-tool';
import {
  approveNext,
  denyNext,
  scriptedModel,
  startTestEnvironment,
  startTestServer,
  waitForEnd,
  waitForRequest,
  type TestEnvironment,
  type TestServer,
} from '../src/testing';
import { testBundle } from './support/server';

const paid: string[] = [];

const pay = defineTool({
  name: 'pay',
  description: 'Pays somebody.',
  parameters: z.object({ to: z.string(), amount: z.number().max(100) }),
  safety: 'dangerous',
  handler: ({ to, amount }) => {
    paid.push(`${to} ${amount}`);
    return `paid ${to} ${amount}`;
  },
});

/** Shows what it does, but cannot show a payment to nobody. */
const transfer = defineTool({
  name: 'transfer',
  description: 'Pays somebody, with a preview.',
  parameters: z.object({ to: z.string() }),
  safety: 'dangerous',
  preview: ({ to }) => {
    if (to === '') throw new Error('pays nobody');
    return { text: `pays ${to}` };
  },
  handler: ({ to }) => {
    paid.push(to);
    return `paid ${to}`;
  },
});

const agent = (name: string, ...tos: string[]) =>
  defineAgent({
    name,
    instructions: 'x',
    model: scriptedModel([
      ...(tos.length === 0
        ? []
        : [{ toolCalls: tos.map((to) => ({ name: 'pay', arguments: { to, amount: 10 } })) }]),
      ({ messages }) => ({
        text: messages.flatMap((m) => (m.role === 'tool' ? [m.content] : [])).join(' | ') || 'nothing to do',
      }),
    ]),
    tools: [pay],
  });

let server: TestServer;
let fixture: TestEnvironment;

beforeAll(async () => {
  server = await startTestServer();
  const shown = defineAgent({
    name: 'shown',
    instructions: 'x',
    model: scriptedModel([{ toolCalls: [{ name: 'transfer', arguments: { to: 'ann' } }] }, { text: 'done' }]),
    tools: [transfer],
  });
  const agents = [agent('one', 'ann'), agent('two', 'ann', 'bob'), agent('none'), shown];
  fixture = await startTestEnvironment({ server, agents, workflowBundle: testBundle() });
});

beforeEach(() => {
  paid.length = 0;
});

afterAll(async () => {
  await fixture.stop();
  await server.stop();
});

const start = async (name: string): Promise<string> => (await fixture.start(name, 'go')).turn;

it('approves as it is', async () => {
  const turn = await start('one');
  expect(await approveNext(fixture.client, turn)).toMatchObject({ decision: 'approved', approver: 'test' });
  expect(await waitForEnd(fixture.client, turn)).toMatchObject({ status: 'answered', answer: 'paid ann 10' });
  expect(paid).toEqual(['ann 10']);
});

it('approves with other arguments, and denies', async () => {
  const turn = await start('two');
  await approveNext(fixture.client, turn, { arguments: { to: 'ann', amount: 5 }, reason: 'half' });
  await denyNext(fixture.client, turn, { reason: 'not bob', approver: 'cleo' });
  const { answer } = await waitForEnd(fixture.client, turn);
  expect(answer).toContain('cleo denied this call: not bob');
  expect(paid).toEqual(['ann 5']);
});

it('approves the new preview of other arguments, too', async () => {
  const turn = await start('shown');
  const verdict = await approveNext(fixture.client, turn, { arguments: { to: 'bob' } });
  expect(verdict).toMatchObject({ decision: 'approved' });
  const { calls } = await waitForEnd(fixture.client, turn);
  expect(calls[0]?.decisions).toMatchObject([
    { decision: 'modified', asksAgain: true },
    { decision: 'approved', judgement: { accepted: true } },
  ]);
  expect(calls[0]?.request).toMatchObject({ preview: { text: 'pays bob' }, proposed: { to: 'ann' } });
  expect(paid).toEqual(['bob']);
});

it('says where other arguments have no preview; the request waits as it was', async () => {
  const turn = await start('shown');
  await expect(approveNext(fixture.client, turn, { arguments: { to: '' } })).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('pays nobody'),
  });
  expect(await approveNext(fixture.client, turn)).toMatchObject({ decision: 'approved' });
  await waitForEnd(fixture.client, turn);
  expect(paid).toEqual(['ann']);
});

it('waits for a request of one tool, and skips those that were decided', async () => {
  const turn = await start('two');
  expect(await waitForRequest(fixture.client, turn, { tool: 'pay' })).toMatchObject({ callId: '1.1' });
  await denyNext(fixture.client, turn);
  expect(await waitForRequest(fixture.client, turn)).toMatchObject({
    callId: '1.2',
    arguments: { to: 'bob' },
  });
  const other = waitForRequest(fixture.client, turn, { tool: 'other', timeoutMs: 100 });
  await expect(other).rejects.toMatchObject({
    code: 'still_waiting',
    message: expect.stringContaining(
      'waited 100 ms for a request of other. 1.1 pay: denied, 1.2 pay: waits for a decision',
    ),
  });
  await denyNext(fixture.client, turn);
  expect(paid).toEqual([]);
});

it('goes on with another worker', async () => {
  const turn = await start('one');
  await waitForRequest(fixture.client, turn);
  await fixture.restart();
  await approveNext(fixture.client, turn);
  expect((await waitForEnd(fixture.client, turn)).answer).toBe('paid ann 10');
});

it.each([
  ['a refused decision', 'one', { arguments: { to: 'ann', amount: 500 } }, 'refused'],
  ['a turn that ends without a request', 'none', {}, 'not_found'],
])('says so of %s', async (_, name, options, code) => {
  const turn = await start(name);
  await expect(approveNext(fixture.client, turn, options)).rejects.toMatchObject({ code });
  await fixture.client.cancel(turn);
});

it('says what a turn waits for that does not end', async () => {
  const turn = await start('one');
  await waitForRequest(fixture.client, turn);
  await expect(waitForEnd(fixture.client, turn, { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'still_waiting',
    message: expect.stringContaining('waited 50 ms for its end. 1.1 pay: waits for a decision'),
  });
  await fixture.client.cancel(turn);
});

describe('a server of its own', () => {
  const settings = { ...process.env };
  afterEach(() => {
    process.env = { ...settings };
  });

  it('is started whatever server the settings name, and is gone when it is stopped', async () => {
    delete process.env['COUNTERSIGN_TEST_ADDRESS'];
    process.env['TEMPORAL_ADDRESS'] = 'production.example:7233';
    const own = await startTestServer({ namespace: 'mine' });
    expect(own).toMatchObject({ namespace: 'mine', address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
    expect(own.address).not.toBe(server.address);
    await own.stop();
    await expect(connect({ address: own.address, timeoutMs: 500 })).rejects.toMatchObject({
      code: 'no_server',
    });
  });
});
