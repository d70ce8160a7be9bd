import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { TurnEvent } from '../../../src/history/events';
import { turnEventsOfJson } from '../../../src/history/exported';
import { stateAfter } from '../../../src/history/moment';
import {
  type CallFilter,
  callFits,
  createScale,
  type Row,
  layOutTimeline,
} from '../../../src/web/model/timeline';

const NOW = Date.parse('2026-11-21T12:10:00Z');
const at = (seconds: number): string => new Date(NOW - 600_000 + seconds * 1000).toISOString();

type Draft = {
  [T in TurnEvent['type']]: Partial<Extract<TurnEvent, { type: T }>> & { type: T; s: number };
}[TurnEvent['type']];

/** Events with only what a row needs. */
const events = (...drafts: Draft[]): TurnEvent[] =>
  drafts.map(({ s, ...draft }, index) =>
    JSON.parse(JSON.stringify({ eventId: index + 1, at: at(s), ...draft })),
  );

const ended = (success: boolean) => JSON.parse(JSON.stringify({ success, content: '' }));
const call = { callId: '1.1', tool: 'refund' };
const step = { step: 1, calls: [{ ...call, id: 'x', kind: 'ask', arguments: {} } as const] };
const accepted = { judgement: { accepted: true }, approver: 'anna' } as const;

const rowText = ({ key, stretches, moments }: Row): string =>
  `${key}: ${[
    ...stretches.map(
      ({ kind, ms, open, failed }) => `${kind} ${ms / 1000}${open ? ' open' : ''}${failed ? ' failed' : ''}`,
    ),
    ...moments.map(({ kind, label }) => `${kind} (${label})`),
  ].join(', ')}`;

const ASKED = [
  { type: 'thinking', step: 1, s: 0 },
  { type: 'step', ...step, s: 2 },
  { type: 'request_opened', ...call, s: 2 },
] satisfies Draft[];

const approved: Draft = { type: 'decision', callId: '1.1', decision: 'approved', ...accepted, s: 62 };
const started: Draft = { type: 'call_started', ...call, s: 63 };

it.each<[string, Draft[], string[]]>([
  ['waits', ASKED, ['step-1: think 2', '1.1: wait 598 open']],
  [
    'was approved and ran',
    [...ASKED, approved, started, { type: 'call_ended', ...call, result: ended(true), attempts: 1, s: 65 }],
    ['step-1: think 2', '1.1: wait 60, queue 1, run 2, approved (approved by anna)'],
  ],
  [
    'was denied',
    [
      ...ASKED,
      { ...approved, decision: 'denied' },
      { type: 'call_ended', ...call, result: ended(false), attempts: 0, s: 62 },
    ],
    ['step-1: think 2', '1.1: wait 60, denied (denied by anna)'],
  ],
  [
    'expired',
    [...ASKED, { type: 'request_expired', callId: '1.1', s: 70 }],
    ['step-1: think 2', '1.1: wait 68 failed, denied (expired)'],
  ],
  [
    'was decided in vain by somebody first',
    [...ASKED, { ...approved, judgement: { accepted: false, code: 'stale_args' } }],
    ['step-1: think 2', '1.1: wait 598 open'],
  ],
  [
    'was denied hunk by hunk',
    [...ASKED, { ...approved, hunks: [] }],
    ['step-1: think 2', '1.1: wait 60, denied (approved by anna)'],
  ],
  [
    'is asked about once more after an edit',
    [
      ...ASKED,
      { ...approved, decision: 'modified', asksAgain: true },
      { type: 'request_opened', ...call, s: 64 },
      { type: 'request_expired', callId: '1.1', s: 70 },
    ],
    ['step-1: think 2', '1.1: wait 60, wait 6 failed, said (modified by anna), denied (expired)'],
  ],
  [
    'failed after three attempts',
    [...ASKED, approved, started, { type: 'call_ended', ...call, result: ended(false), attempts: 3, s: 66 }],
    [
      'step-1: think 2',
      '1.1: wait 60, queue 1, run 3 failed, approved (approved by anna), retried (3 attempts)',
    ],
  ],
  [
    'is in doubt, and was resolved',
    [
      ...ASKED,
      approved,
      started,
      { type: 'call_lost', ...call, message: 'lost', s: 70 },
      { type: 'in_doubt', ...call, s: 71 },
      { type: 'resolved', callId: '1.1', resolution: 'happened', ...accepted, s: 80 },
      { type: 'call_ended', ...call, result: ended(true), attempts: 1, s: 80 },
    ],
    [
      'step-1: think 2',
      '1.1: wait 60, queue 1, run 7 failed, doubt 10, approved (approved by anna), lost (lost), said (happened by anna)',
    ],
  ],
  [
    'is in doubt, and has one vote of two to run again',
    [
      ...ASKED,
      approved,
      started,
      { type: 'in_doubt', ...call, s: 71 },
      { type: 'resolved', callId: '1.1', resolution: 'run-again', ...accepted, stillWaits: true, s: 80 },
      { type: 'resolved', callId: '1.1', resolution: 'run-again', ...accepted, approver: 'ben', s: 90 },
    ],
    [
      'step-1: think 2',
      '1.1: wait 60, queue 1, run 8 failed, doubt 19, approved (approved by anna), approved (run-again by anna, waits for others), approved (run-again by ben)',
    ],
  ],
  [
    'was asked of a model that failed',
    [
      { type: 'thinking', step: 1, s: 0 },
      { type: 'think_retried', step: 1, attempt: 3, s: 9 },
      { type: 'think_failed', step: 1, message: 'no key', s: 9 },
    ],
    ['step-1: think 9 failed, retried (3 attempts), failed (no key)'],
  ],
])('draws a call that %s', (_, drafts, rows) => {
  expect(layOutTimeline(events(...drafts), NOW).rows.map(rowText)).toEqual(rows);
});

it('draws nothing of no events', () => {
  expect(layOutTimeline([], NOW).rows).toEqual([]);
});

it('ends where the turn ended, not now', () => {
  const drafts: Draft[] = [...ASKED, { type: 'turn_ended', status: 'cancelled', s: 10 }];
  expect(layOutTimeline(events(...drafts), NOW).rows.map(rowText)).toEqual([
    'step-1: think 2',
    '1.1: wait 8',
  ]);
});

const recorded = join(__dirname, '..', '..', 'histories');

it.each(readdirSync(recorded))(
  'draws %s within the picture, in order, with a row for each call',
  async (name) => {
    const all = await turnEventsOfJson(readFileSync(join(recorded, name), 'utf8'));
    const { rows } = layOutTimeline(all, NOW);
    const keys = rows.map(({ key }) => key);
    const startedCalls = all.flatMap((event) => (event.type === 'call_started' ? [event.callId] : []));
    expect(keys).toEqual(expect.arrayContaining(startedCalls));
    for (const { stretches, moments } of rows) {
      let end = 0;
      for (const { left, width } of stretches) {
        expect(left).toBeGreaterThanOrEqual(end - 1e-9);
        end = left + width;
      }
      expect(end).toBeLessThanOrEqual(1 + 1e-9);
      expect(moments.every(({ at: place }) => place >= 0 && place <= 1)).toBe(true);
    }
  },
);

test('a moment is placed where the bars that end and begin there are', () => {
  const { rows, place } = layOutTimeline(events(...ASKED, approved, started), NOW);
  const [wait] = rows.find(({ key }) => key === '1.1')?.stretches ?? [];
  expect(place(at(2))).toBe(wait?.left);
  expect(place(at(62))).toBeCloseTo((wait?.left ?? 0) + (wait?.width ?? 0));
  expect(place(at(0))).toBe(0);
});

it('leads from each row to its step or call', () => {
  const { rows } = layOutTimeline(events(...ASKED), NOW);
  expect(rows.map(({ step: place }) => place)).toEqual(['1', '1.1']);
});

it('filters calls by how they ended, and by whether a person decided', async () => {
  const kept = async (name: string): Promise<Record<string, string[]>> => {
    const all = await turnEventsOfJson(readFileSync(join(recorded, `${name}.json`), 'utf8'));
    const { calls } = stateAfter(all, all.length).view;
    const ids = (filter: CallFilter): string[] =>
      calls.filter((one) => callFits(one, filter)).map(({ callId }) => callId);
    return { all: ids('all'), failed: ids('failed'), decided: ids('decided') };
  };
  const one = expect.arrayContaining([expect.any(String)]);
  expect(await kept('approved')).toMatchObject({ failed: [], decided: one });
  expect(await kept('denied')).toMatchObject({ failed: [], decided: one });
  expect(await kept('expired')).toMatchObject({ failed: one, decided: [] });
  expect(await kept('in-doubt')).toMatchObject({ failed: [], decided: one });
});

const DAY = 24 * 3600 * 1000;

it('shows a second of work beside two days of waiting', () => {
  const scale = createScale([0, 1_000, 2 * DAY, 2 * DAY + 500]);
  expect(scale.place(0)).toBe(0);
  expect(scale.place(1_000)).toBeGreaterThan(0.1);
  expect(scale.place(2 * DAY)).toBeLessThan(0.92);
  expect(scale.place(2 * DAY + 500)).toBe(1);
});

it.each([
  ['no moment', [], 5, 0],
  ['one moment', [7], 7, 0],
  ['before all', [7, 9], 1, 0],
  ['after all', [7, 9], 99, 1],
  ['halfway', [0, 100], 50, 0.5],
  ['what is not a time', [Number.NaN, 0, 10], 10, 1],
])('%s', (_, moments, at, place) => {
  expect(createScale(moments).place(at)).toBe(place);
});

it('keeps the order of moments, whatever they are', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 90 * DAY }), { minLength: 2 }), (moments) => {
      const scale = createScale(moments);
      const places = [...moments].sort((a, b) => a - b).map(scale.place);
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
    }),
  );
});

it('names the ends, and nothing too near to another name', () => {
  const ticks = createScale(Array.from({ length: 50 }, (_, n) => n * 1_000)).ticks();
  expect(ticks[0]).toEqual({ at: 0, iso: '1970-01-01T00:00:00.000Z' });
  expect(ticks.at(-1)).toEqual({ at: 1, iso: '1970-01-01T00:00:49.000Z' });
  for (const [index, tick] of ticks.entries()) {
    expect(index === 0 || tick.at - (ticks[index - 1]?.at ?? 0) >= 0.2).toBe(true);
  }
});
