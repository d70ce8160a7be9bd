import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnEvent } from '../../../src/history/events';
import { turnEventsOfJson } from '../../../src/history/from-json';
import { timelineOf, type Row } from '../../../src/web/model/timeline';

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

const told = ({ key, stretches, moments }: Row): string =>
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
      '1.1: wait 60, queue 1, run 7 failed, doubt 10, approved (approved by anna), lost (lost), approved (happened by anna)',
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
  expect(timelineOf(events(...drafts), NOW).rows.map(told)).toEqual(rows);
});

it('draws nothing of no events', () => {
  expect(timelineOf([], NOW).rows).toEqual([]);
});

it('ends where the turn ended, not now', () => {
  const drafts: Draft[] = [...ASKED, { type: 'turn_ended', status: 'cancelled', s: 10 }];
  expect(timelineOf(events(...drafts), NOW).rows.map(told)).toEqual(['step-1: think 2', '1.1: wait 8']);
});

const recorded = join(__dirname, '..', '..', 'history', 'recorded');

it.each(readdirSync(recorded))(
  'draws %s within the picture, in order, with a row for each call',
  async (name) => {
    const all = await turnEventsOfJson(readFileSync(join(recorded, name), 'utf8'));
    const { rows } = timelineOf(all, NOW);
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
  const { rows, place } = timelineOf(events(...ASKED, approved, started), NOW);
  const [wait] = rows.find(({ key }) => key === '1.1')?.stretches ?? [];
  expect(place(at(2))).toBe(wait?.left);
  expect(place(at(62))).toBeCloseTo((wait?.left ?? 0) + (wait?.width ?? 0));
  expect(place(at(0))).toBe(0);
});
