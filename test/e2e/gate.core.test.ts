import { connect, type Countersign } from '../../src/client';
import { createRecorder } from '../../src/audit/records';
import type { TurnEvent } from '../../src/history/events';
import { timelineOf } from '../../src/history/timeline';
import { transcriptOf } from '../../src/history/transcript';
import { scriptedModel, type ScriptedStep } from '../../src/models/scripted';
import { type AgentOptions, defineAgent } from '../../src/tools/define-agent';
import { defineTool, type ToolOptions } from '../../src/tools/define-tool';
import { ToolError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { decide, eventsOf, transcriptOf as transcriptQuery, waitFor } from '../support/turns';
import { statsOf } from '../history/script';

const parameters = { type: 'object', properties: { n: { type: 'number' } } } as const;
const failedOnce = new Set<string>();
const ran: string[] = [];
const tool = (name: string, more: Partial<ToolOptions<typeof parameters>> = {}): Tool =>
  defineTool({
    ...{ name, description: `The tool ${name}.`, parameters },
    handler: ({ n }, { turn = '' }) => {
      ran.push(`${turn} ${name} ${String(n)}`);
      return `${name} ${String(n)}`;
    },
    ...more,
  });
const tools = [
  tool('look'),
  tool('shaky', {
    retry: { maximumAttempts: 3, initialInterval: '10ms' },
    handler: (_, { turn = '' }) => {
      if (failedOnce.has(turn)) return 'it holds';
      failedOnce.add(turn);
      throw new ToolError('it shakes', { retryable: true });
    },
  }),
  tool('big', { handler: () => 'x'.repeat(8_000) }),
  tool('put', { safety: 'cautious', effect: 'idempotent' }),
  tool('pay', { safety: 'dangerous' }),
];
const call = (name: string, n = 1) => ({ name, arguments: { n } });
const end: ScriptedStep = { text: 'done' };
const looks = (count: number): ScriptedStep[] =>
  Array.from({ length: count }, (_, n) => ({ toolCalls: [call('look', n)] }));
const usage = { inputTokens: 10, outputTokens: 5 };

const mixed: ScriptedStep[] = [
  { toolCalls: [call('look'), call('look', 2)], usage },
  { text: 'next', toolCalls: [call('shaky')], usage },
  { toolCalls: [{ name: 'nothing' }, { name: 'look', arguments: { n: 'x' } }], usage },
  { toolCalls: [call('put'), call('look', 4)], usage },
  { toolCalls: [call('look', 5)], usage },
  { toolCalls: [call('look', 6), call('pay')], usage },
  { toolCalls: [call('look', 7)], usage },
  { ...end, usage },
];

const scripts: Record<string, ScriptedStep[]> = {
  mixed,
  hundred: [...looks(100), end],
  short: [...looks(1), end],
  budget: [...looks(20), end],
  big: [...Array.from({ length: 60 }, () => ({ toolCalls: [call('big')] })), end],
  alike: [...Array.from({ length: 20 }, () => ({ toolCalls: [call('look')] })), end],
};
const settings: Record<string, Partial<AgentOptions>> = {
  // Calls that end at the same time would be told in any order.
  mixed: { order: 'strict' },
  hundred: { limits: { steps: 200 } },
  big: { limits: { steps: 200, repeats: false } },
  budget: { budget: { steps: 7 } },
};

let fixture: Fixture;
let client: Countersign;
beforeAll(async () => {
  const agents = Object.entries(scripts).flatMap(([name, script]) => {
    const of = { instructions: 'x', model: scriptedModel(script), tools, ...settings[name] };
    return [
      defineAgent({ ...of, name }),
      defineAgent({ ...of, name: `${name}-gate`, durability: 'gate', commitEvery: '1m' }),
      defineAgent({ ...of, name: `${name}-each`, durability: 'gate', commitEvery: 0 }),
    ];
  });
  fixture = await startFixture({ agents });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const activitiesOf = async (handle: TurnHandle): Promise<string[]> =>
  (await eventsOf(handle)).flatMap(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
  );

/** A turn with its one decision, and all that is on record of it. */
async function run(agent: string): Promise<{ handle: TurnHandle; events: readonly TurnEvent[] }> {
  const handle = await fixture.start(agent, 'go');
  if (scripts[agent.replace(/-.*/, '')] === mixed) {
    await waitFor(handle, '6.2');
    // The call beside it runs meanwhile: whichever came first would be told first.
    await until('the end of the call beside it', async () =>
      (await client.view(handle.workflowId)).calls.some(
        ({ callId, phase }) => callId === '6.1' && phase === 'done',
      ),
    );
    await decide(handle, { callId: '6.2', decision: 'approved', approver: 'ann' });
  }
  await handle.result();
  return { handle, events: await client.timeline(handle.workflowId) };
}

const audited = (events: readonly TurnEvent[]): unknown => {
  const recorder = createRecorder('turn');
  return events.flatMap((event) => recorder.push(event));
};

/** What is told whatever the mode: without times, ids and places. */
const told = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, one: unknown) => (UNTOLD.has(key) ? undefined : one)).replaceAll(
      /(mixed|short)(-gate|-each)?/g,
      '$1',
    ),
  );
const UNTOLD = new Set(
  `at repliedAt waitedMs ms max mean p50 p95 runs run event part eventId turn runId taskQueue replyId durationMs timestamp execution_time_ms askedAt startedAt endedAt since deadline
   decisionId time seenDigest callKey spent lastFailure askMs`.split(/\s+/),
);

test.each(['-gate', '-each'])(
  'a turn with bursts (%s) tells what a turn without them tells',
  async (mode) => {
    const [plain, burst] = [await run('mixed'), await run(`mixed${mode}`)];
    expect(told(burst.events)).toEqual(told(plain.events));
    expect(told(timelineOf(burst.events))).toEqual(told(timelineOf(plain.events)));
    expect(told(audited(burst.events))).toEqual(told(audited(plain.events)));
    expect(told(statsOf([burst.events]))).toEqual(told(statsOf([plain.events])));
    expect(told(await burst.handle.result())).toEqual(told(await plain.handle.result()));
    expect(told(transcriptOf(burst.events))).toEqual(told(transcriptOf(plain.events)));
    expect(told(await transcriptQuery(burst.handle))).toEqual(told(await transcriptQuery(plain.handle)));
    expect(transcriptOf(burst.events).entries).toEqual(await transcriptQuery(burst.handle));
    const activities = await activitiesOf(burst.handle);
    expect(activities).toContain('countersign.burst');
    expect(activities.filter((name) => name === 'put' || name === 'pay')).toEqual(['put', 'pay']);
  },
);

test('times of a burst are its own and go on, and are within those of its activity', async () => {
  const { events } = await run('hundred-gate');
  const times = events.map(({ at }) => Date.parse(at));
  expect(times).toEqual([...times].sort((a, b) => a - b));
});

test('a hundred quick steps are few activities', async () => {
  const { handle, events } = await run('hundred-gate');
  const activities = await activitiesOf(handle);
  expect(events.filter(({ type }) => type === 'step')).toHaveLength(101);
  // The turn learns the mode of its agent from its first activity.
  expect(activities[0]).toBe('countersign.think');
  expect(activities.slice(1).filter((name) => name !== 'countersign.burst')).toEqual([]);
  expect(activities.length).toBeLessThan(10);
  expect(ran.filter((line) => line.startsWith(`${handle.workflowId} look`))).toHaveLength(100);
});

test('a turn that looks once and answers is one activity, and a fork may begin inside of it', async () => {
  const { handle, events } = await run('short-gate');
  expect(await activitiesOf(handle)).toEqual(['countersign.think']);
  expect(told(events)).toEqual(told((await run('short')).events));
  for (const at of ['1.1', '2']) {
    const { turn } = await client.fork({ turn: handle.workflowId, at });
    const fork: TurnHandle = fixture.client.workflow.getHandle(turn);
    expect((await fork.result()).status).toBe('answered');
    // A fork at a call prepares the call anew, so only its result is alike.
    const { entries } = transcriptOf(await client.timeline(turn));
    expect(told(entries.slice(2))).toEqual(told(transcriptOf(events).entries.slice(2)));
  }
  await expect(client.planReset(handle.workflowId, '1.1')).rejects.toMatchObject({ code: 'refused' });
});

test('what is large is committed sooner', async () => {
  const { handle } = await run('big-gate');
  const bursts = (await activitiesOf(handle)).filter((name) => name === 'countersign.burst');
  expect(bursts.length).toBeGreaterThanOrEqual(2);
});

test.each(['budget', 'alike'])('a turn that a limit ends (%s) ends as without bursts', async (name) => {
  const [plain, burst] = [await run(name), await run(`${name}-gate`)];
  const [one, other] = [await plain.handle.result(), await burst.handle.result()];
  expect(one.status).toBe(name === 'budget' ? 'budget' : 'loop');
  expect(told({ ...other, why: '' })).toEqual(told({ ...one, why: '' }));
  expect(other.why).toBe(one.why);
});

test('a fork begins at any step of a burst, and a reset says that it cannot', async () => {
  const { handle, events } = await run('hundred-gate');
  const { turn } = await client.fork({ turn: handle.workflowId, at: '50' });
  const fork: TurnHandle = fixture.client.workflow.getHandle(turn);
  expect((await fork.result()).status).toBe('answered');
  const { entries } = transcriptOf(await client.timeline(turn));
  expect(told(entries)).toEqual(told(transcriptOf(events).entries));
  expect(ran.filter((line) => line.startsWith(`${turn} look`))).toHaveLength(51);
  await expect(client.planReset(handle.workflowId, '50.1')).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('ran in a burst'),
    hint: expect.stringContaining('countersign fork'),
  });
});

test('a reset to a call that waited keeps the burst whose last reply asked for it', async () => {
  const { handle } = await run('mixed-gate');
  const before = await client.timeline(handle.workflowId);
  await client.reset(await client.planReset(handle.workflowId, '6.2'));
  const turn: TurnHandle = fixture.client.workflow.getHandle(handle.workflowId);
  await waitFor(turn, '6.2');
  await decide(turn, { callId: '6.2', decision: 'denied', approver: 'ann' });
  expect((await turn.result()).counts).toMatchObject({ denied: 1 });
  const steps = (events: readonly TurnEvent[]) =>
    events.flatMap((event) => (event.type === 'step' && event.step <= 6 ? [event.replyId] : []));
  expect(steps(await client.timeline(handle.workflowId))).toEqual(steps(before));
});
