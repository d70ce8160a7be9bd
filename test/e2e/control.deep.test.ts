import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { connect, type Countersign } from '../../src/client';
import { CONTROL } from '../../src/contract/names';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { testCli } from '../support/server';
import { until } from '../support/until';

const by = 'ann';
const effects = useEffects();
let fixture: Fixture;
let client: Countersign;

/** Pauses are of a namespace. */
beforeAll(async () => {
  fixture = await startFixture({
    // Temporal's own pause is an experiment, and off by default.
    ownServer: { dynamicConfig: ['frontend.WorkflowPauseEnabled=true'] },
    agents: [
      defineAgent({
        ...{ name: 'idle', instructions: 'x' },
        model: scriptedModel([{ toolCalls: [{ name: 'put', arguments: { tag: 'x' } }] }, { text: 'done' }]),
        tools: [recordTool(effects, { name: 'put', safety: 'cautious' })],
      }),
    ],
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
  // Each is a run of its own: many more need longer than a client waits on a busy machine.
  const tools = Array.from({ length: 4 }, (_, n) => `tool_${n}`);
  const taken = await Promise.all(tools.map((tool) => client.pause({ tool, reason: 'all at once', by })));
  expect(taken.map(({ pause }) => pause.tool)).toEqual(tools);
  const { pauses } = await client.pauses();
  expect(pauses.map(({ tool }) => tool).sort()).toEqual([...tools].sort());
  await client.resume({ all: true, by });
});

it("starts nothing while Temporal's own pause holds what holds the pauses, and says what ends that", async () => {
  // Where these workers work, turns wait for the current build.
  const taskQueue = `${fixture.taskQueue}-other`;
  await fixture.addWorker({}, { taskQueue });
  await worksHere();
  const temporal = (verb: string) =>
    promisify(execFile)(testCli(), [
      ...['workflow', verb, '--workflow-id', CONTROL.workflowId, '--reason', 'by the test'],
      ...['--address', fixture.address],
    ]);
  // The server says "something went wrong, please retry" while a task of the workflow is under way.
  await until('the pause', () =>
    temporal('pause').then(
      () => true,
      () => false,
    ),
  );
  const { turn } = await client.start({ agent: 'idle', prompt: 'x', taskQueue });
  const handle = fixture.client.workflow.getHandle(turn);
  await until('its model call to be held', async () =>
    (await client.pendingActivities(turn)).activities.some(({ lastFailure = '' }) =>
      lastFailure.includes(`temporal workflow unpause --workflow-id ${CONTROL.workflowId}`),
    ),
  );
  await expect(client.pauses()).resolves.toEqual({ control: 'suspended', pauses: [] });
  for (const ask of [() => client.pause({ reason: 'x', by }), () => client.resume({ all: true, by })])
    await expect(ask()).rejects.toMatchObject({
      code: 'still_waiting',
      hint: expect.stringContaining('temporal workflow unpause'),
    });
  expect(await effects.lines()).toEqual([]);
  await temporal('unpause');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await effects.lines()).toEqual(['put x']);
});
