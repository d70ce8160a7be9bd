import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { turnEventsOfJson } from '../../../src/history/exported';
import { type Spread, type Stats, type ToolStats } from '../../../src/history/stats';
import { barsOf, sumsOf, type BarRow } from '../../../src/web/model/stats';
import { statsOf } from '../../history/script';

const NONE: Spread = { count: 0, mean: null, p50: null, p95: null, max: null };
const spread = (p50: number, p95: number, max: number): Spread => ({ count: 9, mean: p50, p50, p95, max });

const empty = statsOf([]);
const tool = (name: string, more: Partial<ToolStats>): Stats['tools'][number] => ({
  ...empty.all,
  tool: name,
  ...more,
});
const draw = (...tools: Stats['tools']) => barsOf({ stats: { ...empty, tools }, refusals: {} });
const barText = ({ tool: name, parts }: BarRow): string =>
  `${name}: ${parts.map((part) => `${part.name} ${part.count} ${part.width.toFixed(2)}`).join(', ')}`;

it('draws calls against the tool that was used most', () => {
  const rows = draw(
    tool('pay', {
      calls: 10,
      succeeded: 7,
      failed: 2,
      unfinished: 1,
      successRate: 7 / 9,
      errors: { in_doubt: 1, tool: 1 },
      retried: 1,
    }),
    tool('look', { calls: 5, succeeded: 5, successRate: 1 }),
  ).calls;
  expect(rows.map(barText)).toEqual([
    'pay: succeeded 7 0.70, failed 2 0.20, unfinished 1 0.10',
    'look: succeeded 5 0.50',
  ]);
  expect(rows.map(({ text }) => text)).toEqual([
    '10 calls · 77 % succeeded · failed by in doubt 1, tool 1 · 1 retried',
    '5 calls · 100 % succeeded',
  ]);
});

it('never hides the one that failed among thousands, nor rounds it away', () => {
  const [row] = draw(
    tool('pay', {
      calls: 100_000,
      succeeded: 99_999,
      failed: 1,
      successRate: 99_999 / 100_000,
      errors: { tool: 1 },
    }),
  ).calls;
  expect(row?.parts[1]?.width).toBeGreaterThan(0.005);
  expect(row?.text).toBe('100,000 calls · 99 % succeeded · failed by tool 1');
});

it('says of a call that is not over only that it is there', () => {
  expect(draw(tool('pay', { calls: 1, unfinished: 1 })).calls).toMatchObject([{ text: '1 call' }]);
});

it('draws times on a logarithmic scale, so that a quick tool shows beside a slow one', () => {
  const rows = draw(
    tool('slow', { time: spread(1_000, 60_000, 3_600_000) }),
    tool('quick', { time: spread(10, 10, 20) }),
    tool('never ran', {}),
  ).times;
  expect(rows.map(({ tool: name }) => name)).toEqual(['slow', 'quick']);
  expect(rows[0]?.parts.reduce((sum, { width }) => sum + width, 0)).toBeCloseTo(1);
  expect(rows[1]?.parts.map(({ name }) => name)).toEqual(['p50', 'max']);
  expect(rows[1]?.parts[0]?.width).toBeGreaterThan(0.1);
  expect(rows[0]?.text).toBe('p50 1.0 s, p95 1 min, max 60 min');
});

it('draws the decisions that people made, and requests without one', () => {
  const decisions = {
    requests: 10,
    approved: 4,
    edited: 1,
    denied: 2,
    expired: 1,
    refused: 0,
    wait: spread(4_000, 60_000, 60_000),
  };
  const rows = draw(tool('pay', { decisions }), tool('look', {})).decisions;
  expect(rows.map(barText)).toEqual([
    'pay: approved 4 0.40, edited 1 0.10, denied 2 0.20, expired 1 0.10, open or closed with the turn 2 0.20',
  ]);
  expect(rows[0]?.text).toBe(
    '10 requests · 4 approved · 1 edited · 2 denied · 1 expired · decided in p50 4.0 s, p95 1 min, max 1 min',
  );
});

it('shows how calls in doubt ended', () => {
  const inDoubt = { calls: 3, resolved: { happened: 1, 'did-not': 1, 'run-again': 0 } };
  expect(draw(tool('pay', { inDoubt }), tool('look', {})).doubts).toMatchObject([
    { tool: 'pay', text: '3 calls · 1 had happened · 1 had not' },
  ]);
});

it('lists refusals by code, most frequent first', () => {
  expect(barsOf({ stats: empty, refusals: { expired: 1, stale_args: 4 } }).refusals.map(barText)).toEqual([
    'stale_args: refused 4 1.00',
    'expired: refused 1 0.25',
  ]);
});

it('sums up nothing without a guess', () => {
  expect(empty.turns.time).toEqual(NONE);
  expect(sumsOf(empty)).toEqual([
    ['Turns', '0', ''],
    ['A turn takes', '-', ''],
    ['Calls', '0', ''],
    ['Waiting for a person', '-', ''],
    ['A reply takes', '-', ''],
    ['Tokens', '0', '0 in, 0 out'],
  ]);
  expect(Object.values(draw()).flat()).toEqual([]);
});

it('draws no bar wider than its place, of recorded turns', async () => {
  const folder = join(__dirname, '..', '..', 'histories');
  const turns = await Promise.all(
    readdirSync(folder).map((name) => turnEventsOfJson(readFileSync(join(folder, name), 'utf8'))),
  );
  const { times, ...counts } = barsOf({ stats: statsOf(turns), refusals: { expired: 1 } });
  const widthOf = ({ parts }: { parts: readonly { width: number }[] }): number =>
    parts.reduce((sum, { width }) => sum + width, 0);
  const rows = Object.values(counts).flat();
  expect(rows.length).toBeGreaterThan(4);
  for (const row of rows) expect(widthOf(row)).toBeGreaterThan(0);
  // What took no whole millisecond has no bar.
  expect(times.some((row) => widthOf(row) > 0)).toBe(true);
  for (const row of [...rows, ...times]) expect(widthOf(row)).toBeLessThanOrEqual(1.05);
});
