import type { TurnEvent } from '../../src/history/events';
import { turnEventsOfJson } from '../../src/history/exported';
import { timelineOf } from '../../src/history/timeline';
import { exported } from './exports';
import {
  accepted,
  ask,
  authority,
  doubtOfTwo,
  item,
  requested,
  result,
  run,
  runAgain,
  Script,
  thinkOutput,
  waits,
} from './script';

const timelineFrom = async (...names: string[]) =>
  timelineOf(await turnEventsOfJson({ countersign: 1, runs: names.map(exported) }));

test('each step has its reply and its calls, each call what happened to it', async () => {
  const { steps } = await timelineFrom('edited');
  expect(steps.map(({ step, reply }) => [step, reply?.finishReason])).toEqual([
    [1, 'tool-calls'],
    [2, 'stop'],
  ]);
  const [call] = steps[0]?.calls ?? [];
  expect(call).toMatchObject({
    callId: '1.1',
    arguments: { n: 500 },
    approved: { n: 50 },
    effective: { n: 50 },
  });
  expect(call?.events.map((event) => event.type)).toEqual([
    'request_opened',
    'decision',
    'call_started',
    'call_ended',
  ]);
});

test('a call that waits for a person tells how long, with its doubt', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')])
    .wait(60_000)
    .update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved'));
  script.fails(script.call(ask('1.1')), { message: 'pipe' });
  script.open([item('1.1', { kind: 'in_doubt' })]);
  script.wait(30_000).update('resolve', { callId: '1.1', resolution: 'did-not' }, accepted('1.1', 'did-not'));
  expect(timelineOf(script.fold()).steps[0]?.calls[0]?.waitedMs).toBe(94_000);
});

test('a call that nobody had to look at has no such time', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
  script.done(script.call(run('1.1')), { result: result('1.1') });
  expect(timelineOf(script.fold()).steps[0]?.calls[0]).not.toHaveProperty('waitedMs');
});

test('a call that waits for the first time has no such time yet', () => {
  const script = new Script().started().task();
  script.think(1, [ask('1.1')]).open([item('1.1')]);
  expect(timelineOf(script.fold()).steps[0]?.calls[0]).not.toHaveProperty('waitedMs');
});

test('a model that had to be asked twice', () => {
  const script = new Script().started().task();
  const scheduledEventId = script.thinkScheduled(1);
  const lastFailure = { message: 'rate limit', kind: 'application' as const, details: [] };
  script.add({ kind: 'activity_started', scheduledEventId, attempt: 2, lastFailure });
  const usage = { inputTokens: 7, outputTokens: 3 };
  script.add({ kind: 'activity_completed', scheduledEventId, result: thinkOutput([], { usage }) });
  const { steps, usage: sum } = timelineOf(script.fold());
  expect(steps[0]?.reply).toMatchObject({ attempts: 2, lastFailure: 'rate limit', usage });
  expect(sum).toEqual(usage);
});

test('tokens of all steps add up', () => {
  const script = new Script().started().task();
  for (const step of [1, 2]) {
    const scheduledEventId = script.thinkScheduled(step);
    const usage = { inputTokens: 10 * step, totalTokens: 11 };
    script.add({ kind: 'activity_completed', scheduledEventId, result: thinkOutput([], { usage }) });
  }
  expect(timelineOf(script.fold()).usage).toEqual({ inputTokens: 30, totalTokens: 22 });
});

test('a turn that continued as new is one turn, with a gap where runs are missing', async () => {
  const { runs, steps, view } = await timelineFrom('continuing', 'continued');
  expect(runs).toHaveLength(2);
  expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 13]);
  expect(view.status).toBe('answered');
});

test('what the check of a tool says late is shown with its call', async () => {
  const events = await turnEventsOfJson(exported('in-doubt'));
  const isVerified = ({ type }: TurnEvent): boolean => type === 'verified';
  const { steps } = timelineOf([
    ...events.filter((event) => !isVerified(event)),
    ...events.filter(isVerified),
  ]);
  expect(steps[0]?.calls[0]?.events.at(-1)?.type).toBe('verified');
});

test('messages that name no call are shown with the step', async () => {
  const { steps } = await timelineFrom('denied');
  const others = steps.flatMap(({ events }) => events);
  expect(others).toContainEqual(expect.objectContaining({ type: 'decision', callId: '' }));
});

test('a step that a reset took back is shown as it was, and again as it became', () => {
  const before = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')]);
  const start = before.events.length;
  before
    .open([item('1.1')])
    .update('decide', { callId: '1.1', decision: 'denied' }, accepted('1.1', 'denied'));
  const reset: TurnEvent = {
    type: 'reset',
    eventId: 4,
    at: '2026-01-01T01:00:00.000Z',
    baseRunId: 'r',
    newRunId: 'r2',
    reason: 'again',
  };
  const after = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .fold()
    .slice(1);
  expect(start).toBeGreaterThan(4);
  const { steps } = timelineOf([...before.fold(), reset, ...after]);
  expect(steps.map(({ undone, calls }) => [undone, calls.map((call) => call.phase)])).toEqual([
    [true, ['done']],
    [false, ['preparing']],
  ]);
});

test('a workflow without a model has its calls in step 0', () => {
  const script = new Script().started();
  script.add({ kind: 'memo', fields: { 'gated.refund': ask('refund', { callId: 'refund' }), open: null } });
  const { steps } = timelineOf(script.fold());
  expect(steps.map(({ step, calls }) => [step, calls.map((call) => call.callId)])).toEqual([[0, ['refund']]]);
});

const MINUTE = 60_000;
const waitedIn = (script: Script) => timelineOf(script.fold()).steps[0]?.calls[0]?.waitedMs ?? 0;

test.each(['approved', 'withdrawn'])(
  'a request waits until its last vote, also after one that says %s',
  (word) => {
    const script = requested({ authority: authority(2) }).wait(MINUTE);
    script.update('decide', { callId: '1.1', decision: word, approver: 'ann' }, accepted('1.1', word, waits));
    script.wait(10 * MINUTE);
    const said = { callId: '1.1', decision: 'denied', approver: 'ben' };
    script.update('decide', said, accepted('1.1', 'denied', { approver: 'ben' }));
    expect(waitedIn(script)).toBeGreaterThan(11 * MINUTE);
  },
);

test('a call in doubt waits until the last vote to run it again', () => {
  const script = runAgain(doubtOfTwo().wait(MINUTE), 'ann', waits).wait(10 * MINUTE);
  expect(waitedIn(runAgain(script, 'ben'))).toBeGreaterThan(11 * MINUTE);
});
