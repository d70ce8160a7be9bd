import { randomUUID } from 'node:crypto';
import { connect, type Countersign, type ForkTurnRequest } from '../../src/client';
import type { ModelRequest } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import type { TurnFacts } from '../../src/tools/hooks';
import { runCli } from '../cli/run-cli';
import { type Fixture, startFixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { handleOf } from '../support/vault';

const tag = randomUUID().slice(0, 8);
/** What each call of `context` was told, and what the models were asked. */
const asked: TurnFacts[] = [];
const requests: ModelRequest[] = [];
/** What the next calls of `context` do. */
const next: (() => string | undefined)[] = [];

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', effect: 'pure' },
  parameters: { type: 'object', properties: {} },
  handler: () => 'seen',
});
const model = {
  id: 'recorder',
  generate: async (request: ModelRequest) => {
    requests.push(request);
    const results = request.messages.filter(({ role }) => role === 'tool').length;
    const toolCalls = results < 2 ? [{ name: 'look', arguments: '{}' }] : [];
    return { text: results < 2 ? '' : 'done', toolCalls, finishReason: 'stop' as const };
  },
};
const agents = [
  defineAgent({
    ...{ name: `knows-${tag}`, instructions: 'Look twice.', tools: [look] },
    ...{ model, models: { other: { ...model, id: 'other' } } },
    limits: { modelRetryFor: '3s' },
    context: (facts) => {
      asked.push(facts);
      return (next.shift() ?? (() => `fact ${asked.length}`))();
    },
  }),
];

let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  fixture = await startFixture({ agents, workers: 2, worker: { maxCachedWorkflows: 0 } });
  client = await connect({ address: testAddress() });
});

afterAll(() => client.close());

beforeEach(() => {
  asked.length = 0;
  requests.length = 0;
  next.length = 0;
});

const start = async (): Promise<string> => {
  const { turn } = await client.start({
    ...{ agent: `knows-${tag}`, prompt: 'look around', taskQueue: fixture.taskQueue },
    ...{ requester: 'ann', metadata: { tenant: 'acme' } },
  });
  return turn;
};
const ended = async (turn: string): Promise<string> => {
  await handleOf(client, turn).result();
  return turn;
};
const known = (): string[] => requests.map(({ instructions }) => instructions.split('\n').at(-1) ?? '');

it('is asked once a turn and given to each step, whichever worker takes it', async () => {
  const turn = await ended(await start());
  expect(asked).toEqual([
    expect.objectContaining({
      agent: `knows-${tag}`,
      turn,
      prompt: 'look around',
      requester: 'ann',
      metadata: { tenant: 'acme' },
    }),
  ]);
  expect(known()).toEqual(['fact 1', 'fact 1', 'fact 1']);
  const { steps } = await client.view(turn);
  expect(steps.map(({ context }) => context)).toEqual(['fact 1', undefined, undefined]);
  const env = { TEMPORAL_ADDRESS: testAddress() };
  expect((await runCli(['show', turn], { env })).out).toMatch(/context +fact 1\n/);
});

it.each<[string, Omit<ForkTurnRequest, 'turn'>]>([
  ['the first step, with another model', { at: '1', model: 'other' }],
  ['a call of the first step', { at: '1.1' }],
  ['a later call', { at: '2.1' }],
  ['a given first reply', { at: '1', change: { what: 'reply', reply: { calls: [{ tool: 'look' }] } } }],
])('is taken from the record by a fork from %s', async (_, request) => {
  const turn = await ended(await start());
  requests.length = 0;
  const fork = await client.fork({ turn, ...request });
  await ended(fork.turn);
  expect(asked).toHaveLength(1);
  expect(new Set(known())).toEqual(new Set(['fact 1']));
  // A fork of the fork knows it too.
  requests.length = 0;
  await ended((await client.fork({ turn: fork.turn, at: '2' })).turn);
  expect(asked).toHaveLength(1);
  expect(new Set(known())).toEqual(new Set(['fact 1']));
});

it('is asked again where it fails, and the model never without it', async () => {
  const broken = (): never => {
    throw new Error('the store is away');
  };
  next.push(broken);
  await ended(await start());
  expect(asked).toHaveLength(2);
  expect(known()).toEqual(['fact 2', 'fact 2', 'fact 2']);
});

it('fails the turn with its words once that was tried for long enough', async () => {
  const broken = (): never => {
    throw new Error('the store is away');
  };
  next.push(...Array.from({ length: 20 }, () => broken));
  const turn = await start();
  const view = await until('its end', async () => {
    const now = await client.view(turn);
    return now.status === 'failed' && now;
  });
  expect(view.error?.message).toMatch(
    /the context of agent knows-\w+ failed: the store is away \(given up after/,
  );
  expect(requests).toEqual([]);
});

it('fails the turn at once where it gives a number', async () => {
  // @ts-expect-error: what a program without types may return
  next.push(() => 7);
  const turn = await start();
  await expect(handleOf(client, turn).result()).rejects.toThrow();
  expect((await client.view(turn)).error?.message).toMatch(/is a number, not text$/);
  expect({ asked: asked.length, requests: requests.length }).toEqual({ asked: 1, requests: 0 });
});

it('is nothing where the function has nothing to say', async () => {
  next.push(() => undefined);
  const turn = await ended(await start());
  expect(requests.map(({ instructions }) => instructions)).toEqual(Array(3).fill('Look twice.'));
  expect((await client.view(turn)).steps[0]).not.toHaveProperty('context', expect.anything());
});
