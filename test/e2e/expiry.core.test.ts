import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { planTool } from '../support/plan-tool';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, newPlan, openOf, signalDecision, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const tools = [
  recordTool(effects, { name: 'brief', safety: 'dangerous', requestExpires: '1s' }),
  recordTool(effects, { name: 'soon', safety: 'dangerous', requestExpires: '2s' }),
  recordTool(effects, { name: 'ever', safety: 'dangerous', requestExpires: 'never' }),
  planTool(effects),
];

let fixture: Fixture;
beforeEach(async () => {
  fixture = await startFixture({
    workers: 0,
    agents: [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })],
  });
});
afterEach(() => fixture.stop());

const start = (tag: string, ...names: string[]): Promise<TurnHandle> =>
  fixture.start(
    'payer',
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag } })) }, readBack),
  );

test('a request expires into a denial that says so; a late approval is refused; the model learns it', async () => {
  await fixture.addWorker();
  const handle = await start('late', 'brief', 'ever');
  await waitFor(handle, '1.1');
  await until('the request to expire', async () => (await openOf(handle))?.count === 1);
  const late = await decide(handle, { callId: '1.1', decision: 'approved' });
  expect(late).toMatchObject({ accepted: false, code: 'expired' });
  await signalDecision(handle, { callId: '1.1', decision: 'approved', decisionId: 'late' });
  await until('the verdict', async () => (await verdictsOf(handle)).length > 0);
  expect(await verdictsOf(handle)).toEqual([
    expect.objectContaining({ verdict: 'expired', decisionId: 'late' }),
  ]);
  await decide(handle, { callId: '1.2', decision: 'approved' });
  const { answer, counts } = await handle.result();
  expect(answer).toContain(
    'Error [expired]: Nobody decided on this call in time. It expired and counts as denied',
  );
  expect(counts).toMatchObject({ expired: 1, denied: 0, failed: 1 });
  expect(await effects.lines('late')).toEqual(['ever late']);
});

test('a request that never expires has no deadline and no timer', async () => {
  await fixture.addWorker();
  const handle = await start('patient', 'ever');
  expect(await waitFor(handle, '1.1')).toMatchObject({ deadline: null });
  const timers = (await eventsOf(handle)).filter((event) => event.timerStartedEventAttributes);
  expect(timers).toEqual([]);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await handle.result();
});

test('the earliest deadline has the timer: each request expires in its own time', async () => {
  await fixture.addWorker();
  const handle = await start('each', 'soon', 'brief');
  const { answer } = await handle.result();
  expect(answer.match(/Error \[expired\]/g)).toHaveLength(2);
  const timers = (await eventsOf(handle)).filter((event) => event.timerFiredEventAttributes);
  expect(timers).toHaveLength(2);
  expect(await effects.lines('each')).toEqual([]);
});

test.each([
  ['before the deadline, and is read after it', false],
  ['after the deadline', true],
])('an approval that comes %s is expired: we fail closed', async (what, after) => {
  const first = await fixture.addWorker();
  const handle = await start(what, 'soon');
  const { deadline } = await waitFor(handle, '1.1');
  const passed = () => Date.now() > Date.parse(deadline ?? '');
  await first.stop();
  if (after) await until('the deadline', passed);
  await signalDecision(handle, { callId: '1.1', decision: 'approved', decisionId: what });
  await until('the deadline', passed);
  await until('the timer', async () =>
    (await eventsOf(handle)).some((event) => event.timerFiredEventAttributes),
  );
  await fixture.addWorker();
  expect((await handle.result()).answer).toContain('Error [expired]');
  expect(await verdictsOf(handle)).toEqual([
    expect.objectContaining({ verdict: 'expired', decisionId: what }),
  ]);
  expect(await effects.lines(what)).toEqual([]);
});

test('a new plan starts the time anew', async () => {
  await fixture.addWorker();
  const lines = { tag: 'renewed', lines: ['one'] };
  const handle = await fixture.start(
    'payer',
    book.add({ toolCalls: [{ name: 'propose_lines', arguments: lines }] }, readBack),
  );
  const before = await waitFor(handle, '1.1');
  await decide(handle, {
    callId: '1.1',
    decision: 'modified',
    arguments: { tag: 'renewed', lines: ['two'] },
  });
  const after = await newPlan(handle, before);
  expect(Date.parse(after.deadline ?? '')).toBeGreaterThan(Date.parse(before.deadline ?? ''));
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await handle.result();
});

test('approved, but no worker starts it within startWithin: expired, and never started', async () => {
  const queue = `${fixture.taskQueue}-far`;
  const far = recordTool(effects, { name: 'far', safety: 'dangerous', taskQueue: queue, startWithin: '1s' });
  const agents = [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools: [far] })];
  const own = await startFixture({ workers: 0, agents });
  await own.addWorker({ queues: [own.taskQueue] });
  const remote = await own.addWorker({ queues: [queue] });
  const call = { name: 'far', arguments: { tag: 'too far' } };
  const handle = await own.start('payer', book.add({ toolCalls: [call] }, readBack));
  await waitFor(handle, '1.1');
  await remote.stop();
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect((await handle.result()).answer).toContain('Error [expired]: No worker started this call in time');
  await own.addWorker({ queues: [queue] });
  const next = await own.start(
    'payer',
    book.add({ toolCalls: [{ ...call, arguments: { tag: 'later' } }] }, readBack),
  );
  await waitFor(next, '1.1');
  await decide(next, { callId: '1.1', decision: 'approved' });
  await next.result();
  expect(await effects.lines()).toContain('far later');
  expect(await effects.lines('too far')).toEqual([]);
});
