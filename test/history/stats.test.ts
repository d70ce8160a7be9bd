import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { turnEventsOfJson } from '../../src/history/exported';
import { createStats, spreadOf } from '../../src/history/stats';
import { recordedFiles } from '../audit/sample';
import {
  accepted,
  ask,
  doubtOfTwo,
  item,
  requested,
  result,
  run,
  runAgain,
  Script,
  statsOf,
  thinkOutput,
  waits,
} from './script';

/** One call of `look` with this result, in a turn that ends. */
const looked = (more: object = {}, settings: object = {}) => {
  const script = new Script().started().task();
  const call = run('1.1', settings);
  script.think(1, [call]);
  return script.done(script.call(call), {
    result: result('1.1', { tool: 'look', ...more }),
    contentDigest: 'x',
  });
};
const decide = (script: Script, decision: string, more: object = {}) =>
  script
    .wait(4000)
    .update('decide', { callId: '1.1', decision, ...more }, accepted('1.1', decision))
    .open([]);
const failure = (code: string) => ({ success: false, content: 'no', error: { code, message: 'no' } });

it('counts success and failure by tool, and why calls failed', () => {
  const stats = statsOf([looked().fold(), looked(failure('timeout')).fold(), looked(failure('tool')).fold()]);
  expect(stats.tools).toMatchObject([
    {
      tool: 'look',
      calls: 3,
      succeeded: 1,
      failed: 2,
      unfinished: 0,
      successRate: 1 / 3,
      errors: { timeout: 1, tool: 1 },
    },
  ]);
});

it('leaves out what a fork took over or only recorded', () => {
  const given = {
    kind: 'recorded',
    callId: '1.1',
    id: 'x',
    tool: 'look',
    proposed: {},
    result: result('1.1'),
  } as const;
  const fork = { of: 'u', from: '1.2', world: 'dry', given: thinkOutput([given, ask('1.2')]) } as const;
  const script = new Script()
    .started('go', { fork })
    .task()
    .think(2, [run('2.1')]);
  script.done(script.call(run('2.1')), { result: result('2.1') });
  const { all, model } = statsOf([script.fold()]);
  expect(all).toMatchObject({ calls: 1, succeeded: 1 });
  expect(model.replies).toBe(1);
});

it('puts the most used tool first', () => {
  const pay = requested();
  const stats = statsOf([pay.fold(), looked().fold(), looked().fold()]);
  expect(stats.tools.map(({ tool, calls }) => [tool, calls])).toEqual([
    ['look', 2],
    ['pay', 1],
  ]);
  expect(stats.all.calls).toBe(3);
});

it('tells how long calls ran and how much they returned, not those that never ran', () => {
  const took = (execution_time_ms: number, content: string) =>
    looked({ content, metadata: { ...result('1.1').metadata, execution_time_ms } }).fold();
  const denied = decide(requested(), 'denied').fold();
  const { all } = statsOf([took(10, 'ä'), took(20, 'four'), took(300, 'x'.repeat(2000)), denied]);
  expect(all.time).toEqual({ count: 3, mean: 110, p50: 20, p95: 300, max: 300 });
  expect(all.size).toMatchObject({ count: 3, p50: 4, max: 2000 });
});

it.each([
  ['approved', {}, { approved: 1, edited: 0, denied: 0 }],
  ['modified', { arguments: { n: 2 } }, { approved: 0, edited: 1, denied: 0 }],
  ['denied', {}, { approved: 0, edited: 0, denied: 1 }],
  ['approved', { hunks: [] }, { approved: 0, edited: 0, denied: 1 }],
])('counts a request that was %s with %j, and its wait', (decision, more, counts) => {
  const { decisions } = statsOf([decide(requested(), decision, more).fold()]).all;
  expect(decisions).toMatchObject({ requests: 1, expired: 0, refused: 0, ...counts });
  expect(decisions.wait).toMatchObject({ count: 1, p50: 6000 });
});

it('counts a request that nobody decided in time', () => {
  const script = requested()
    .wait(120_000)
    .task()
    .close({ expired: ['1.1'] });
  expect(statsOf([script.fold()]).all.decisions).toMatchObject({
    requests: 1,
    expired: 1,
    wait: { count: 0 },
  });
});

const voted = (script: Script, decision: string, more: object = {}) =>
  script.wait(1000).update('decide', { callId: '1.1', decision }, accepted('1.1', decision, more));
const MORE = { needs: { approvals: 1, who: [] } };
const expire = (script: Script) =>
  script
    .wait(120_000)
    .task()
    .close({ expired: ['1.1'] });

/** A person decides the call, and then its worker finds that the decision does not hold. */
const voided = (script: Script, decision = 'approved', more: object = {}) => {
  const call = ask('1.1', {}, { effect: 'idempotent' });
  script.update('decide', { callId: '1.1', decision, ...more }, accepted('1.1', decision));
  const scheduled = script.call(call);
  script.open([]).done(scheduled, { askAgain: 'the rules have changed' });
  return script.task().open([item('1.1')]);
};
const idempotent = () => requested({}, { effect: 'idempotent' });

it.each<[string, (script: Script) => Script, object, number]>([
  ['an approval that did not hold, and still waits', (script) => voided(script), {}, 0],
  ['an approval that did not hold, and expired', (script) => expire(voided(script)), { expired: 1 }, 0],
  [
    'an approval that did not hold, and was left when the turn ended',
    (script) => voided(script).close({ cancelled: ['1.1'] }),
    {},
    0,
  ],
  [
    'an edit that did not hold, and an approval as proposed',
    (script) =>
      voided(script, 'modified', { arguments: { n: 2 } })
        .update(
          'decide',
          { callId: '1.1', decision: 'approved' },
          accepted('1.1', 'approved', { decisionId: 'd' }),
        )
        .open([]),
    { approved: 1, edited: 0 },
    1,
  ],
  ['one vote of two, and still waits', (script) => voted(script, 'approved', MORE), {}, 0],
  ['one vote of two, and expired', (script) => expire(voted(script, 'approved', MORE)), { expired: 1 }, 0],
  [
    'one vote that was withdrawn, and expired',
    (script) => expire(voted(voted(script, 'approved', MORE), 'withdrawn', MORE)),
    { expired: 1 },
    0,
  ],
  [
    'both votes',
    (script) => voted(voted(script, 'approved', MORE), 'approved', { decisionId: 'd' }).open([]),
    { approved: 1 },
    1,
  ],
  ['a vote against it that ended it', (script) => voted(script, 'denied').open([]), { denied: 1 }, 1],
])('a request that got %s counts by how it ended', (_, play, ended, waits) => {
  const { decisions } = statsOf([play(idempotent()).fold()]).all;
  expect(decisions).toMatchObject({ approved: 0, denied: 0, expired: 0, ...ended, wait: { count: waits } });
});

it('counts refused decisions beside the one that stands', () => {
  const script = requested();
  script.signal('approval', { callId: '1.1', decision: 'approved', seenDigest: '0'.repeat(64) });
  script.verdicts([{ callId: '1.1', verdict: 'stale_args', decisionId: 'd', at: 'x' }]);
  expect(statsOf([decide(script, 'approved').fold()]).all.decisions).toMatchObject({
    requests: 1,
    refused: 1,
    approved: 1,
  });
});

it('counts a denied call as no failure of its tool', () => {
  const { all } = statsOf([looked().fold(), decide(requested(), 'denied').fold()]);
  expect(all).toMatchObject({ calls: 2, succeeded: 1, failed: 0, unfinished: 1, successRate: 1, errors: {} });
});

it('counts a call that has no result yet as unfinished', () => {
  expect(statsOf([requested().fold()])).toMatchObject({
    turns: { count: 1, ends: { waiting: 1 }, time: { count: 0 } },
    all: { calls: 1, unfinished: 1, successRate: null },
  });
});

it('counts only the calls of the tool that was asked for', () => {
  const fold = createStats({ tool: 'look' });
  fold.add(requested().fold());
  fold.add(looked().fold());
  expect(fold.stats()).toMatchObject({ turns: { count: 2 }, all: { calls: 1 }, tools: [{ tool: 'look' }] });
});

it('comes to nothing without turns', () => {
  expect(statsOf([])).toMatchObject({
    turns: { count: 0, ends: {} },
    tools: [],
    all: { calls: 0, successRate: null },
  });
});

describe('histories of a real server', () => {
  const eventsOf = (path: string) => turnEventsOfJson(readFileSync(path, 'utf8'));
  const pathOf = (wanted: string) => recordedFiles.find(([name]) => name === wanted)?.[1] ?? '';

  it.each(recordedFiles)('%s: all tools together come to the sum of each', async (_name, path) => {
    const { all, tools } = statsOf([await eventsOf(path)]);
    const sum = (of: (one: (typeof tools)[number]) => number) =>
      tools.reduce((total, one) => total + of(one), 0);
    expect(all).toMatchObject({
      calls: sum((one) => one.calls),
      succeeded: sum((one) => one.succeeded),
      failed: sum((one) => one.failed),
    });
    expect(all.time.count).toBe(sum((one) => one.time.count));
    expect(all.calls).toBe(all.succeeded + all.failed + all.unfinished);
  });

  it('counts a call in doubt and how it was resolved', async () => {
    const { all } = statsOf([await eventsOf(pathOf('lost'))]);
    expect(all.inDoubt.calls).toBeGreaterThan(0);
    expect(all.inDoubt.resolved).toMatchObject({ happened: expect.any(Number) });
  });

  it('counts the vote that runs a call again, and not the vote that waits for it', () => {
    const one = runAgain(doubtOfTwo(), 'ann', waits);
    expect(statsOf([one.fold()]).all.inDoubt).toMatchObject({ calls: 1, resolved: { 'run-again': 0 } });
    expect(statsOf([runAgain(one, 'ben').fold()]).all.inDoubt).toMatchObject({
      resolved: { 'run-again': 1 },
    });
  });

  it('times every reply of the model', async () => {
    const { model } = statsOf([await eventsOf(pathOf('many'))]);
    expect(model.replies).toBeGreaterThan(0);
    expect(model.time.count).toBe(model.replies);
  });
});

describe('spreadOf', () => {
  it.each([
    [[], { count: 0, mean: null, p50: null, p95: null, max: null }],
    [[7], { count: 1, mean: 7, p50: 7, p95: 7, max: 7 }],
    [[3, 1, 2], { count: 3, mean: 2, p50: 2, p95: 3, max: 3 }],
    [
      Array.from({ length: 100 }, (_, at) => 100 - at),
      { count: 100, mean: 50.5, p50: 50, p95: 95, max: 100 },
    ],
  ])('of %j is right', (numbers, spread) => {
    expect(spreadOf(numbers)).toEqual(spread);
  });

  it('has so many numbers at or below each percentile, and is one of the numbers', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 1 }), (numbers) => {
        const { p50, p95, max } = spreadOf(numbers);
        for (const [share, value] of [
          [0.5, p50],
          [0.95, p95],
          [1, max],
        ] as const) {
          expect(numbers).toContain(value);
          expect(numbers.filter((one) => one <= (value ?? NaN)).length).toBeGreaterThanOrEqual(
            share * numbers.length,
          );
        }
      }),
    );
  });
});
