import type { BurstOutput } from '../../../src/contract/burst/burst';
import type { PreparedCall, ValidCall } from '../../../src/contract/call';
import { makeFailure } from '../../../src/contract/result';
import type { TurnEvent } from '../../../src/history/events';
import { expandBurst } from '../../../src/history/fold/burst';
import { forkRecordOf } from '../../../src/history/fork-record';
import { result, run, Script, thinkOutput } from '../script';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const wrong: PreparedCall = {
  ...{ kind: 'invalid', callId: '3.1', id: 'id-3.1', tool: 'nothing', proposed: {} },
  result: makeFailure(
    { id: 'id-3.1', callId: '3.1', tool: 'nothing', arguments: {} },
    { code: 'tool_not_found', message: 'there is no such tool' },
    { timestamp: '' },
  ),
};
const ended = (callId: string, started: number, end: number, attempts = 1) => ({
  ...{ callId, started, ended: end, attempts },
  output: { result: result(callId, { tool: 'look' }), contentDigest: `digest of ${callId}` },
});
const replies = [
  thinkOutput([run('2.1'), run('2.2')], { replyId: 'r2', usage: { inputTokens: 3 } }),
  thinkOutput([wrong], { replyId: 'r3' }),
  thinkOutput([run('4.1')], { replyId: 'r4' }),
] as const;
const [first, second, last] = replies;

/** 100 ms of a worker whose burst had 1,000 ms. */
const output: BurstOutput = {
  steps: [
    { reply: first, asked: 0, replied: 100, calls: [ended('2.1', 110, 300, 2), ended('2.2', 110, 200)] },
    { reply: second, asked: 300, replied: 400, calls: [] },
    { reply: last, asked: 410, replied: 500 },
  ],
  ms: 600,
};
const input = (step: number) => ({
  ...{ agent: 'a', step, words: ['more'], results: [], droppedBefore: 0 },
  after: { replyId: 'r1', count: 2 },
});

/** A turn whose first step is taken by itself. */
const begun = () =>
  new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
const burstOf = (value: unknown, attempt = 1): Script => {
  const script = begun();
  const scheduledEventId = script.scheduled('burst-2', 'countersign.burst', input(2));
  script.add({ kind: 'activity_started', scheduledEventId, attempt });
  script.add({ kind: 'activity_completed', scheduledEventId, result: value });
  return script;
};

/** The same steps, as activities of their own. */
function singly(): Script {
  const script = begun();
  script.done(script.thinkScheduled(2, { words: ['more'], after: { replyId: 'r1', count: 2 } }), first);
  const calls = [run('2.1'), run('2.2')].map((call): [ValidCall, number] => [call, script.call(call)]);
  for (const [index, attempts] of [
    [1, 1],
    [0, 2],
  ] as const) {
    const [call, scheduledEventId] = calls[index] ?? [];
    if (call === undefined || scheduledEventId === undefined) throw new Error('there are two calls');
    script.add({ kind: 'activity_started', scheduledEventId, attempt: attempts });
    const contentDigest = `digest of ${call.callId}`;
    const of = { result: result(call.callId, { tool: 'look' }), contentDigest };
    script.add({ kind: 'activity_completed', scheduledEventId, result: of });
  }
  script.done(script.thinkScheduled(3), second);
  script.done(script.thinkScheduled(4), last);
  return script;
}

const told = (events: readonly TurnEvent[]): unknown =>
  events.map(({ eventId: _id, at: _at, ...event }) => ({
    ...event,
    ...('durationMs' in event && event.durationMs !== null ? { durationMs: 'some' } : {}),
  }));

test('a burst tells what its steps would tell as activities of their own', () => {
  expect(told(burstOf(output).fold())).toEqual(told(singly().fold()));
});

test('its events have one id, and times of their own that end with it', () => {
  const events = burstOf(output).fold();
  const completed = burstOf(output).events.at(-1);
  const end = Date.parse(completed?.at ?? '');
  const of = events.filter(({ eventId }) => eventId === completed?.eventId);
  expect(of.map(({ type, at }) => [type, Date.parse(at) - (end - 600)])).toEqual([
    ['step', 100],
    ['call_started', 110],
    ['call_started', 110],
    ['call_ended', 200],
    ['call_ended', 300],
    ['thinking', 300],
    ['step', 400],
    ['call_ended', 400],
    ['thinking', 410],
    ['step', 500],
  ]);
  expect(events.find((event) => event.type === 'call_ended' && event.callId === '2.1')).toMatchObject({
    durationMs: 190,
    attempts: 2,
  });
});

test.each<[string, BurstOutput, number]>([
  ['longer than the server saw', { ...output, ms: 1e7 }, START],
  ['shorter than its steps', { ...output, ms: 0 }, START],
])('a worker that says it took %s: no event is before or after its activity', (_, value) => {
  const script = burstOf(value);
  const [scheduled, completed] = [script.events.at(-3), script.events.at(-1)];
  for (const { at } of script.fold().filter(({ eventId }) => eventId === completed?.eventId)) {
    expect(at >= (scheduled?.at ?? '')).toBe(true);
    expect(at <= (completed?.at ?? '')).toBe(true);
  }
});

test('calls that wait for each other come one after the other', () => {
  const strict = { ...first, order: 'strict' as const };
  const calls = [ended('2.1', 100, 100), ended('2.2', 100, 100)];
  const [step] = output.steps;
  const script = burstOf({ ...output, steps: [{ ...step, reply: strict, calls }] });
  expect(script.told('call_started', 'call_ended').map((event) => [event.type, event.callId])).toEqual([
    ['call_started', '2.1'],
    ['call_ended', '2.1'],
    ['call_started', '2.2'],
    ['call_ended', '2.2'],
  ]);
});

test('a burst that was begun anew says that its steps were taken again', () => {
  expect(burstOf(output, 3).told('think_retried')).toMatchObject([{ step: 2, attempt: 3, burst: true }]);
  expect(burstOf(output).told('think_retried')).toEqual([]);
});

test('where asking for the next step failed in a burst, that attempt counts', () => {
  const script = burstOf({ ...output, steps: output.steps.slice(0, 2), failed: { message: 'busy' } });
  const scheduledEventId = script.scheduled('burst-4', 'countersign.burst', input(4));
  script.add({ kind: 'activity_started', scheduledEventId, attempt: 1 });
  script.add({ kind: 'activity_completed', scheduledEventId, result: output });
  const [retried] = script.told('think_retried');
  expect(retried).toMatchObject({ step: 4, attempt: 2, lastFailure: 'busy' });
  expect(retried).not.toHaveProperty('burst', expect.anything());
});

test.each([undefined, null, 'x', 7, [], {}, { steps: [{}], ms: 1 }, { steps: [], ms: 1 }])(
  'a burst that returned %j is a step that cannot be read',
  (value) => {
    const script = burstOf(value);
    expect(script.told('step').slice(1)).toMatchObject([
      { step: 2, text: expect.stringContaining('codec'), calls: [] },
    ]);
  },
);

test('a burst may return a single reply, as a worker of an earlier release does for a first step', () => {
  expect(
    burstOf(thinkOutput([], { text: 'done' }))
      .told('step')
      .slice(1),
  ).toMatchObject([{ step: 2, text: 'done', calls: [] }]);
});

describe('a burst that began as the first think of a turn', () => {
  const asked = (type: string, id: string, value: unknown, attempt = 1): Script => {
    const script = new Script().started().task();
    const scheduledEventId = script.scheduled(id, type, { ...input(2), after: undefined });
    const lastFailure = { message: 'lost', kind: 'other' as const, details: [] };
    script.add({ kind: 'activity_started', scheduledEventId, attempt, lastFailure });
    return script.done(scheduledEventId, value);
  };
  const think = (value: unknown, attempt?: number) => asked('countersign.think', 'think-2', value, attempt);

  test('makes the events of any burst', () => {
    expect(think(output).fold()).toEqual(asked('countersign.burst', 'burst-2', output).fold());
  });

  test.each<[string, unknown, object]>([
    ['a burst', output, { burst: true }],
    ['a single step', thinkOutput([]), {}],
    ['a single step that cannot be read', 'x', {}],
  ])('says that steps are taken again only where it was a burst: %s', (_, value, facts) => {
    const [retried, ...more] = think(value, 2).told('think_retried');
    expect(retried).toEqual(expect.objectContaining({ step: 2, attempt: 2, lastFailure: 'lost', ...facts }));
    expect(JSON.stringify(retried).includes('"burst"')).toBe('burst' in facts);
    expect(more).toEqual([]);
  });

  test('a reply inside of it is never a burst itself', () => {
    const [step, ...rest] = output.steps;
    const nested = { ...output, steps: [{ ...step, reply: { ...first, ...output } }, ...rest] };
    expect(
      think(nested)
        .told('step')
        .map((event) => event.step),
    ).toEqual([2, 3, 4]);
  });

  test('a fork finds each of its steps', () => {
    const record = forkRecordOf([think(output).events]);
    expect([...record.steps.keys()]).toEqual([2, 3, 4]);
    expect(record.steps.get(4)).toMatchObject({ reply: last, results: [{ callId: '3.1', success: false }] });
  });
});

test('a fork finds each step of a burst with its results', () => {
  const record = forkRecordOf([burstOf(output).events]);
  expect([...record.steps.keys()]).toEqual([1, 2, 3, 4]);
  expect(record.steps.get(3)).toMatchObject({
    reply: second,
    results: [
      { callId: '2.1', digest: 'digest of 2.1', success: true },
      { callId: '2.2', digest: 'digest of 2.2', success: true },
    ],
  });
  expect(record.steps.get(4)).toMatchObject({ reply: last, results: [{ callId: '3.1', success: false }] });
  for (const [number, { at }] of record.steps)
    expect(record.events[at - 1]).toMatchObject({ type: 'thinking', step: number });
  expect([...record.results.keys()].sort()).toEqual(['2.1', '2.2', '3.1']);
});

test('whatever a burst returns, reading it never throws', () => {
  const scheduled = { kind: 'activity_scheduled', eventId: 5, at: 'never', id: 'burst-x' } as const;
  const completed = { kind: 'activity_completed', eventId: 9, at: 'never', scheduledEventId: 5 } as const;
  const of = { ...scheduled, activityType: 'countersign.burst', taskQueue: 'q', input: 'sealed' };
  expect(expandBurst({ scheduled: of, completed: { ...completed, result: output } })).not.toEqual([]);
});
