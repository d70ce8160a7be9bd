import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Countersign } from '../../src/client';
import { describeEvent } from '../../src/history/describe';
import { scriptedModel, type ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { operator } from '../support/operator';
import { testAddress } from '../support/server';
import { decide, eventsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const GATE = { durability: { durability: 'gate', commitEvery: '1m' } } as const;

const counted: string[] = [];
const count = defineTool({
  name: 'count',
  description: 'Counts.',
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  handler: ({ n }, { turn = '' }) => {
    counted.push(turn);
    return `count ${String(n)}`;
  },
});
const countedOf = ({ workflowId }: { workflowId: string }): number =>
  counted.filter((turn) => turn === workflowId).length;

/** Counts on and on, some time before each step, until a person says something more. */
const untilWords: ScriptedStep[] = Array.from({ length: 3_000 }, (_, n) => async ({ messages }) => {
  await delay(20);
  const words = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  return words.length > 1
    ? { text: `heard ${words.at(-1)}` }
    : { toolCalls: [{ name: 'count', arguments: { n } }] };
});

let isAsked = false;
let release = (): void => undefined;
const released = new Promise<void>((resolve) => (release = resolve));
/** Counts once, and then asks until the test lets it answer. */
const held: ScriptedStep[] = [
  { toolCalls: [{ name: 'count', arguments: { n: 0 } }] },
  async () => {
    isAsked = true;
    await released;
    return { text: 'done' };
  },
];

let fixture: Fixture;
let client: Countersign;
beforeAll(async () => {
  const of = {
    instructions: 'x',
    model: scriptedModel(untilWords),
    tools: [count],
    limits: { steps: 3_000 },
  };
  fixture = await startFixture({
    agents: [
      defineAgent({ ...of, name: 'long', durability: 'gate', commitEvery: '1m' }),
      defineAgent({ ...of, name: 'second', durability: 'gate' }),
      defineAgent({ ...of, name: 'held', model: scriptedModel(held), durability: 'gate' }),
    ],
  });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

/** Waits until a turn is in a burst that is not its first activity. Returns the id of the burst's activity. */
async function inBurst({ workflowId }: Pick<TurnHandle, 'workflowId'>): Promise<string> {
  const id = await until('a burst', async () => {
    const { raw } = await fixture.client.workflow.getHandle(workflowId).describe();
    return raw.pendingActivities?.find(({ activityId }) => activityId?.startsWith('burst-'))?.activityId;
  });
  const before = countedOf({ workflowId });
  await until('some steps', () => Promise.resolve(countedOf({ workflowId }) > before + 3));
  return id ?? '';
}

test('a cancelled turn ends soon, and what its burst had finished is on record', async () => {
  const handle = await fixture.start('long', 'go');
  await inBurst(handle);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow('cancelled');
  const ran = countedOf(handle);
  const events = await client.timeline(handle.workflowId);
  const ended = events.filter(({ type }) => type === 'call_ended');
  // One may have run whose step was given up.
  expect([ran, ran - 1]).toContain(ended.length);
  expect(events.at(-1)).toMatchObject({ type: 'turn_ended', status: 'cancelled' });
  expect(countedOf(handle)).toBe(ran);
});

test('a turn that is cancelled in its first activity does not wait for it, and keeps nothing of it', async () => {
  const handle = await fixture.start('held', 'go');
  await until('its second step', () => Promise.resolve(isAsked));
  expect(countedOf(handle)).toBe(1);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow('cancelled');
  release();
  const events = await client.timeline(handle.workflowId);
  expect(events.map(({ type }) => type)).not.toContain('step');
  expect(events.at(-1)).toMatchObject({ type: 'turn_ended', status: 'cancelled' });
});

test('a paused burst stops, and goes on from the last commit', async () => {
  const handle = await fixture.start('long', 'go');
  const id = await inBurst(handle);
  const isStep = ({ type }: { type: string }): boolean => type === 'step';
  const before = (await client.timeline(handle.workflowId)).filter(isStep).length;
  await operator(handle, 'activity', 'pause', '--activity-id', id);
  await until('its attempt to end', async () => {
    const [activity] = (await client.pendingActivities(handle.workflowId)).activities;
    return activity?.state === 'paused' && activity.lastFailure !== undefined;
  });
  expect((await client.timeline(handle.workflowId)).filter(isStep)).toHaveLength(before);
  const stopped = countedOf(handle);
  await operator(handle, 'activity', 'unpause', '--activity-id', id);
  await until('it to go on', () => Promise.resolve(countedOf(handle) > stopped + 3));
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow('cancelled');
  const events = await client.timeline(handle.workflowId);
  const again = events.find(({ type }) => type === 'think_retried');
  expect(again).toMatchObject({ step: before + 1, burst: true });
  expect(again && describeEvent(again).text).toContain('taken anew from here');
});

test('words for a turn are taken up at the next commit', async () => {
  const session = client.session(`gate-${process.pid}`, { agent: 'second', taskQueue: fixture.taskQueue });
  await session.send({ text: 'go' });
  const turn = await until('the turn', async () => (await session.state()).turn);
  await inBurst({ workflowId: `${session.id}.t1` });
  await session.send({ text: 'stop', mode: 'steer' });
  await until('its end', async () => (await session.state()).state === 'idle');
  const handle: TurnHandle = fixture.client.workflow.getHandle(`${session.id}.t1`);
  expect(turn).toBeDefined();
  expect(await handle.result()).toMatchObject({ status: 'answered', answer: 'heard stop' });
});

test('killed in a burst: it goes on from the last commit and says so; what had an effect stays as it was', async () => {
  const own = await startFixture();
  const first = await own.addProcess(GATE);
  const names = ['put:a', 'look:b', 'look:c', 'look:d', 'put:e', 'look:f', 'pay:g'];
  for (const tag of ['a', 'b', 'c', 'e', 'f', 'g']) await own.open(tag);
  const handle = await own.startSteps(...names.map((name) => calls(name)));
  await own.effectsOf('d', 1);
  await first.kill();
  await own.open('d');
  await own.addHere(GATE);
  await waitFor(handle, '7.1');
  await decide(handle, { callId: '7.1', decision: 'approved', approver: 'ann' });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 7, failed: 0 } });
  const effects = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((tag) => own.effects(tag)));
  // A crash costs the pure calls since the last commit, and nothing else.
  expect(effects.map(({ length }) => length)).toEqual([1, 2, 2, 2, 1, 1, 1]);
  const events = await client.timeline(handle.workflowId);
  expect(events.filter(({ type }) => type === 'think_retried')).toMatchObject([
    { step: 2, attempt: 2, burst: true },
  ]);
  const bursts = (await eventsOf(handle)).flatMap((event) =>
    event.activityTaskScheduledEventAttributes?.activityType?.name === 'countersign.burst' ? [1] : [],
  );
  expect(bursts).toHaveLength(3);
});

test('killed in the first activity of a turn: its steps are taken anew, and it says so', async () => {
  const own = await startFixture();
  const first = await own.addProcess(GATE);
  const handle = await own.startSteps(calls('look:a'));
  await own.effectsOf('a', 1);
  await first.kill();
  await own.open('a');
  await own.addHere(GATE);
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 1, failed: 0 } });
  const events = await client.timeline(handle.workflowId);
  expect(events.filter(({ type }) => type === 'think_retried')).toMatchObject([
    { step: 1, attempt: 2, burst: true },
  ]);
  expect(events.filter(({ type }) => type === 'call_ended')).toHaveLength(1);
});

test.each([
  ['step', {}],
  ['gate', { durability: { durability: 'gate' } }],
  ['gate, each step', { durability: { durability: 'gate', commitEvery: 0 } }],
] as const)(
  'killed again and again (%s): every step is on record once, and each effect has one key',
  async (_, mode) => {
    const own = await startFixture();
    const tags = Array.from({ length: 12 }, (__, n) => `t${n}`);
    for (const tag of tags) await own.open(tag);
    const handle = await own.startSteps(
      ...tags.map((tag, n) => calls(`${n % 4 === 3 ? 'put' : 'look'}:${tag}`)),
    );
    for (let round = 0; round < 5; round++) {
      const worker = own.spawn(mode);
      await delay(Math.random() * 2_500);
      await worker.kill();
    }
    await own.addHere(mode);
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 12, failed: 0 } });
    const events = await client.timeline(handle.workflowId);
    const steps = events.flatMap((event) => (event.type === 'step' ? [event.step] : []));
    expect(steps).toEqual(Array.from({ length: 13 }, (__, n) => n + 1));
    const ended = events.flatMap((event) => (event.type === 'call_ended' ? [event.callId] : []));
    expect(ended).toEqual(tags.map((__, n) => `${n + 1}.1`));
    for (const tag of ['t3', 't7', 't11'])
      expect(new Set((await own.effects(tag)).map(({ key }) => key)).size).toBe(1);
  },
);
