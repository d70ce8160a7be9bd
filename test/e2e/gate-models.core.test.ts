import { connect, type Countersign } from '../../src/client';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { type AgentOptions, defineAgent } from '../../src/tools/define-agent';
import {
  type Answer,
  completion,
  type FakeServer,
  json,
  startServer,
  wireCall,
} from '../models/openai/server';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const MODES: [string, Pick<AgentOptions, 'durability' | 'commitEvery'>][] = [
  ['step', {}],
  ['gate', { durability: 'gate', commitEvery: '1m' }],
];

const effects = useEffects();
let servers: FakeServer[];
let fixture: Fixture;
let client: Countersign;

const modelAt = (server: FakeServer | undefined) =>
  openaiCompatible({ baseUrl: server?.baseUrl ?? '', model: 'm', id: 'test/m', stream: false });

beforeAll(async () => {
  servers = await Promise.all(MODES.map(() => startServer()));
  const look = recordTool(effects, { name: 'look' });
  fixture = await startFixture({
    agents: MODES.map(([name, mode], n) =>
      defineAgent({
        ...{ name, instructions: 'do', tools: [look], limits: { modelRetryFor: '5s' }, ...mode },
        model: modelAt(servers[n]),
      }),
    ),
  });
  client = await connect({ address: testAddress() });
});
afterAll(async () => {
  await client.close();
  await Promise.all(servers.map((server) => server.close()));
});

/** Two steps that look, and then what a test says. */
const thirdStep = (answer: Answer): Answer => {
  let asked = 0;
  const look = (n: number) => completion({ tool_calls: [wireCall(`c${n}`, 'look', `{"tag":"${n}"}`)] });
  return (response, request) => {
    asked += 1;
    (asked > 2 ? answer : json(look(asked)))(response, request);
  };
};

/** A turn to its end, with the requests to its model. */
async function run(n: number, answer: Answer) {
  const server = servers[n];
  if (server === undefined) throw new Error('no server of its own');
  server.requests.length = 0;
  server.answer = thirdStep(answer);
  const [agent = ''] = MODES[n] ?? [];
  const { turn } = await client.start({ agent, prompt: 'go', taskQueue: fixture.taskQueue });
  const view = await until('its end', async () => {
    const now = await client.view(turn);
    return now.endedAt !== null && now;
  });
  return { turn, view, asked: server.requests.length, events: await client.timeline(turn) };
}

const rows = MODES.map(([name], n) => ({ name, n }));
const busy = json({ error: { message: 'busy' } }, { status: 503 });

describe.each(rows)('durability $name', ({ n }) => {
  test('a model that fails from the third step on: asked for modelRetryFor in all', async () => {
    const { view, asked } = await run(n, busy);
    expect(view).toMatchObject({ status: 'failed' });
    // It waits for some 1 s and 2 s; another 4 s would be too long.
    expect(view.error?.message).toContain('given up after 3 attempts');
    expect(view.error?.message).toContain('modelRetryFor is 5.0 s');
    expect(asked).toBe(5);
  });

  test('a model that refuses the key in the third step is asked once, and the turn says why', async () => {
    const { view, asked, events } = await run(n, json({ error: { message: 'no' } }, { status: 401 }));
    expect(view).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('HTTP 401') } });
    expect(asked).toBe(3);
    expect(events.filter(({ type }) => type === 'think_retried')).toEqual([]);
    const failed = events.find(({ type }) => type === 'think_failed');
    expect(failed).toMatchObject({ step: 3, failureType: 'countersign.model.auth' });
  });

  test('a model that is well again answers, and the record says how often it was asked', async () => {
    let failures = 0;
    const { view, asked, events } = await run(n, (response, request) => {
      failures += 1;
      (failures < 3 ? busy : json(completion({ content: 'done' })))(response, request);
    });
    expect(view).toMatchObject({ status: 'answered', answer: 'done' });
    expect(asked).toBe(5);
    const retried = events.find(({ type }) => type === 'think_retried');
    expect(retried).toMatchObject({ step: 3, attempt: 3 });
  });
});
