import { randomUUID } from 'node:crypto';
import { connect } from '../../../src/client';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { defineTool } from '../../../src/tools/define-tool';
import { ToolError } from '../../../src/tools/errors';
import { testAddress } from '../../support/server';
import { decide, waitFor } from '../../support/turns';
import { handleOf } from '../../support/vault';
import { runCli } from '../run-cli';
import { startFixture, type Fixture } from '../../support/fixture';
import { until } from '../../support/until';

/** Of this run alone: other tests have turns on the same server. */
const agent = `counter-${randomUUID()}`;
let fixture: Fixture;

beforeAll(async () => {
  const parameters = { type: 'object', properties: { n: { type: 'number' } } } as const;
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters,
    handler: ({ n }) => {
      if (n === 2) throw new ToolError('there is no 2');
      return 'x'.repeat(2000);
    },
  });
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters,
    safety: 'dangerous',
    handler: () => 'paid',
  });
  const calls = [1, 2, 3].map((n) => ({ name: 'look', arguments: { n } }));
  const model = scriptedModel([
    { toolCalls: [...calls, { name: 'pay', arguments: { n: 1 } }] },
    { text: 'done' },
  ]);
  fixture = await startFixture({
    agents: [defineAgent({ name: agent, instructions: 'x', model, tools: [look, pay] })],
  });
  const client = await connect({ address: testAddress() });
  const start = async () => {
    const { turn } = await client.start({ agent, prompt: 'count', taskQueue: fixture.taskQueue });
    return handleOf(client, turn);
  };
  for (const decision of ['approved', 'denied'] as const) {
    const handle = await start();
    await waitFor(handle, '1.4');
    await decide(handle, { callId: '1.4', decision });
    await handle.result();
  }
  await waitFor(await start(), '1.4');
  await client.close();
  await until('three turns to be listed', async () => (await stats('--agent', agent)).turns.count === 3);
});

const cli = (...args: string[]) => runCli(['stats', ...args], { env: { TEMPORAL_ADDRESS: testAddress() } });
const stats = async (...args: string[]) => {
  const { code, out, err } = await cli(...args, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out);
};

it('counts success, failure, sizes, times, decisions and waits', async () => {
  const found = await stats('--agent', agent);
  expect(found).toMatchObject({
    turns: { count: 3, ends: { answered: 2, waiting: 1 } },
    model: { replies: 5, failed: 0 },
    all: { calls: 12, succeeded: 7, failed: 3, unfinished: 2 },
    tools: [
      { tool: 'look', calls: 9, succeeded: 6, failed: 3, errors: { tool: 3 }, size: { count: 9, max: 2000 } },
      {
        tool: 'pay',
        calls: 3,
        decisions: { requests: 3, approved: 1, denied: 1, expired: 0, wait: { count: 2 } },
      },
    ],
  });
  expect(found.tools[0].time).toMatchObject({ count: 9, p50: expect.any(Number) });
});

it('draws bars that one can read', async () => {
  const { code, out } = await runCli(['stats', '--agent', agent], {
    env: { TEMPORAL_ADDRESS: testAddress(), COLUMNS: '100' },
  });
  expect(code).toBe(0);
  expect(out).toMatch(/look +9 +█{16}░{8} +66 % +tool 3/);
  expect(out).toMatch(/decisions\nTOOL/);
});

it.each([
  ['one tool', ['--tool', 'pay'], { turns: { count: 3 }, all: { calls: 3 }, tools: [{ tool: 'pay' }] }],
  ['so many turns', ['--limit', '1'], { turns: { count: 1, ends: { waiting: 1 } } }],
  ['turns since then', ['--since', '1h'], { turns: { count: 3 } }],
])('counts only %s', async (_what, args, expected) => {
  expect(await stats('--agent', agent, ...args)).toMatchObject(expected);
});

it('counts open turns alone since a moment after the others ended', async () => {
  const since = new Date(Date.now() + 60_000).toISOString();
  expect(await stats('--agent', agent, '--since', since)).toMatchObject({
    turns: { count: 1, ends: { waiting: 1 } },
  });
});

it('says that there are no turns', async () => {
  expect(await cli('--agent', `nobody-${randomUUID()}`)).toMatchObject({
    code: 0,
    out: 'There are no turns.\n',
  });
});

it.each([
  ['--since', 'soon'],
  ['--limit', '0'],
])('refuses %s %s', async (...args) => {
  expect(await cli(...args)).toMatchObject({ code: 2, err: expect.stringContaining('[usage]') });
});
