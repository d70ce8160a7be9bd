import { connect, type Countersign } from '../../src/client';
import type { TurnInput } from '../../src/contract/turn';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { defineAgent, type AgentOptions } from '../../src/tools/define-agent';
import { runCli } from '../cli/run-cli';
import {
  completion,
  json,
  startServer,
  wireCall,
  type Answer,
  type FakeServer,
} from '../models/openai/server';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const hang: Answer = () => undefined;
const hangInBody: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"choices": [');
};
const endless: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = (): boolean =>
    response.destroyed || response.write(' '.repeat(1024), () => setTimeout(more, 5));
  more();
};
const html = json('<html><body>502 Bad Gateway</body></html>', {
  status: 502,
  headers: { 'content-type': 'text/html' },
});

/** What a model's server does that never gives a reply. */
const DEAD: readonly [string, Answer][] = [
  ['a page of HTML with 502', html],
  ['JSON that is cut', json('{"choices": [{"message": {"content": "he')],
  ['JSON without choices', json({ id: 'x' })],
  ['an empty list of choices', json({ choices: [] })],
  ['an error in a body of status 200', json({ error: { message: 'the engine is on fire' } })],
  ['429', json({ error: { message: 'slow down' } }, { status: 429 })],
  ['nothing, not even a head', hang],
  ['a head and half a body', hangInBody],
  ['a body without end', endless],
];

const effects = useEffects();
let server: FakeServer;
let deadServers: FakeServer[];
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  deadServers = await Promise.all(DEAD.map(() => startServer()));
  server = await startServer();
  const closed = await startServer();
  await closed.close();
  const look = recordTool(effects, { name: 'look' });
  const agent = (name: string, baseUrl: string, limits: NonNullable<AgentOptions['limits']> = {}) =>
    defineAgent({
      ...{ name, instructions: 'do', tools: [look], limits },
      model: openaiCompatible({ baseUrl, model: 'm', id: 'test/m', stream: false }),
    });
  fixture = await startFixture({
    agents: [
      ...deadServers.map(({ baseUrl }, n) =>
        agent(`dead-${n}`, baseUrl, { modelTimeout: '1s', modelRetryFor: '4s' }),
      ),
      agent('refused', closed.baseUrl, { modelRetryFor: '4s' }),
      agent('usual', server.baseUrl),
    ],
  });
  client = await connect({ address: testAddress() });
});
afterAll(async () => {
  await client.close();
  await server.close();
  await Promise.all(deadServers.map((dead) => dead.close()));
});
beforeEach(() => {
  server.requests.length = 0;
});

/** A turn to its end, and how long that took. */
const run = async ({ agent }: Pick<TurnInput, 'agent'>) => {
  const from = Date.now();
  const { turn } = await client.start({ agent, prompt: 'go', taskQueue: fixture.taskQueue });
  const view = await until('its end', async () => {
    const now = await client.view(turn);
    return now.endedAt !== null && now;
  });
  return { turn, view, tookMs: Date.now() - from };
};

// Each waits for its own tries, and has a server of its own: they run side by side.
test.concurrent.each(DEAD.map(([name, answer], n) => ({ name, answer, n })))(
  '$name: asked again until modelRetryFor is over, then the turn ends and names the model',
  async ({ answer, n }) => {
    const server = deadServers[n];
    if (server === undefined) throw new Error('no server of its own');
    server.answer = answer;
    const { view, tookMs } = await run({ agent: `dead-${n}` });
    expect(view).toMatchObject({ status: 'failed', error: { message: expect.stringMatching(/^test\/m: /) } });
    expect(view.error?.message).toContain('modelRetryFor is 4.0 s');
    expect(server.requests.length).toBeGreaterThan(1);
    expect(tookMs).toBeLessThan(12_000);
  },
);

test('a refused connection', async () => {
  const { view, tookMs } = await run({ agent: 'refused' });
  expect(view.error?.message).toMatch(/^test\/m: .*ECONNREFUSED.*given up after \d attempts/);
  expect(tookMs).toBeLessThan(12_000);
});

test.each([400, 401, 403, 404, 413, 422, 425, 302, 307])('HTTP %i ends the turn at once', async (status) => {
  const location = { location: `${server.baseUrl}/chat/completions` };
  server.answer = json({ error: { message: 'no' } }, { status, headers: status < 400 ? location : {} });
  const { view, tookMs } = await run({ agent: 'usual' });
  expect(view.error?.message).toMatch(/^test\/m: /);
  expect(server.requests).toHaveLength(1);
  expect(tookMs).toBeLessThan(5_000);
});

test.each([408, 409, 500, 503])('HTTP %i is asked again', async (status) => {
  server.answer = (...asked) => {
    const isFirst = server.requests.length === 1;
    (isFirst ? json('no', { status }) : json(completion({ content: 'here' })))(...asked);
  };
  expect((await run({ agent: 'usual' })).view).toMatchObject({ status: 'answered', answer: 'here' });
  expect(server.requests).toHaveLength(2);
});

test('replies with nothing in them: three tries within 15 seconds', async () => {
  server.answer = json(completion({ content: '' }));
  const { view, tookMs } = await run({ agent: 'usual' });
  expect(view.error?.message).toBe('test/m: the model answered nothing (stop) (asked 3 times)');
  expect(server.requests).toHaveLength(3);
  expect(tookMs).toBeLessThan(15_000);
});

test('after the results of a tool a reply with nothing in it is an empty answer, and shown so', async () => {
  server.answer = (...asked) => {
    const call = wireCall('c', 'look', '{"tag":"x"}');
    const isFirst = server.requests.length === 1;
    json(isFirst ? completion({ tool_calls: [call] }, 'tool_calls') : completion({ content: null }))(
      ...asked,
    );
  };
  const { turn, view } = await run({ agent: 'usual' });
  expect(view).toMatchObject({ status: 'answered', answer: '', calls: [{ result: { success: true } }] });
  const { out } = await runCli(['show', turn], { env: { TEMPORAL_ADDRESS: testAddress() } });
  expect(out).toContain('answered: the model had nothing more to say');
});

test('while it is tried again, show tells the attempt, why the last one failed, and when the next one comes', async () => {
  server.answer = json('busy', { status: 503, headers: { 'retry-after': '30' } });
  const { turn } = await client.start({ agent: 'usual', prompt: 'go', taskQueue: fixture.taskQueue });
  await until('the first failure', async () =>
    (await client.pendingActivities(turn)).activities.some(({ lastFailure }) => lastFailure !== undefined),
  );
  const { out } = await runCli(['show', turn], { env: { TEMPORAL_ADDRESS: testAddress() } });
  expect(out).toMatch(/the model .*attempt 2, next try in (29|30|2\d) s \(last failure: test\/m: .*503/);
  await client.client.workflow.getHandle(turn).terminate('seen');
});

test.concurrent('time in which no worker is up is not counted', async () => {
  const server = await startServer();
  server.answer = html;
  const model = openaiCompatible({ baseUrl: server.baseUrl, model: 'm', id: 'test/m', stream: false });
  const limits = { modelRetryFor: '20s' } as const;
  const away = await startFixture({
    agents: [defineAgent({ name: 'away', instructions: 'do', tools: [], limits, model })],
    workers: 0,
  });
  const first = await away.addWorker();
  const handle = await away.start('away', 'go');
  await until('two attempts', () => server.requests.length >= 2);
  await first.stop();
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  server.requests.length = 0;
  server.answer = (...asked) =>
    (server.requests.length === 1 ? html : json(completion({ content: 'back' })))(...asked);
  await away.addWorker();
  try {
    expect(await handle.result()).toMatchObject({ answer: 'back' });
  } finally {
    await away.stop();
    await server.close();
  }
});
