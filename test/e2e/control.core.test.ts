import { connect, type Countersign } from '../../src/client';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { startFixture, type Fixture } from '../support/fixture';
import { until } from '../support/until';

const by = 'ann';
let fixture: Fixture;
let client: Countersign;

/** Pauses are of a namespace. */
beforeAll(async () => {
  fixture = await startFixture({
    ownServer: {},
    agents: [defineAgent({ name: 'idle', instructions: 'x', model: scriptedModel([]), tools: [] })],
    workers: 0,
  });
  client = await connect({ client: fixture.client });
});

const worksHere = async (): Promise<void> => {
  const { pause } = await client.pause({ tool: 'pay', reason: 'an incident', by });
  await expect(client.pauses()).resolves.toEqual({ control: 'open', pauses: [pause] });
  await expect(client.resume({ tool: 'pay', by })).resolves.toEqual([pause]);
  await expect(client.pauses()).resolves.toEqual({ control: 'open', pauses: [] });
};

it('pauses and resumes with whatever builds there are, and without the current one', async () => {
  const first = await fixture.addWorker({ buildId: 'a', deployment: 'one' });
  const second = await fixture.addWorker({ buildId: 'b', deployment: 'one' });
  await until('both builds', async () => {
    await client.makeCurrent({ deployment: 'one', build: 'b' });
    return true;
  });
  await second.stop();
  await worksHere();
  await fixture.addWorker({ buildId: 'a', deployment: 'two' });
  await worksHere();
  await fixture.addWorker();
  await worksHere();
  await first.stop();
  await worksHere();
});

it('answers all who pause at once, and keeps what each said', async () => {
  const tools = Array.from({ length: 20 }, (_, n) => `tool_${n}`);
  const taken = await Promise.all(tools.map((tool) => client.pause({ tool, reason: 'all at once', by })));
  expect(taken.map(({ pause }) => pause.tool)).toEqual(tools);
  const { pauses } = await client.pauses();
  expect(pauses.map(({ tool }) => tool).sort()).toEqual([...tools].sort());
  await client.resume({ all: true, by });
});
