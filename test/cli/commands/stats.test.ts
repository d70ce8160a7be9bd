import { barOf, statsLines } from '../../../src/cli/commands/stats';
import { count, widthOf } from '../../../src/contract/text/columns';
import { createStyle } from '../../../src/cli/print/screen';
import { sizeText } from '../../../src/contract/text/bytes';
import { spreadOf, type Stats, type ToolStats } from '../../../src/history/stats';
import { statsOf } from '../../history/script';

const none = statsOf([]);
const tool = (more: Partial<ToolStats>): ToolStats => ({ ...none.all, ...more });
const READ = tool({
  calls: 120,
  succeeded: 118,
  failed: 2,
  successRate: 118 / 120,
  errors: { tool: 1, timeout: 1 },
  retried: 3,
  time: spreadOf([5, 12, 2500]),
  size: spreadOf([10, 2048, 5_000_000]),
});
const PAY = tool({
  calls: 4,
  succeeded: 2,
  failed: 1,
  unfinished: 1,
  successRate: 2 / 3,
  decisions: {
    requests: 4,
    approved: 1,
    edited: 1,
    denied: 1,
    expired: 0,
    refused: 2,
    wait: spreadOf([60_000]),
  },
  inDoubt: { calls: 1, resolved: { happened: 1, 'did-not': 0, 'run-again': 0 } },
});
const stats: Stats = {
  turns: { count: 31, ends: { answered: 30, step_limit: 1 }, time: spreadOf([1500]) },
  model: { ...none.model, replies: 70, retried: 1, inputTokens: 12_345 },
  all: tool({ calls: 124, succeeded: 120, failed: 3, unfinished: 1, successRate: 120 / 123 }),
  tools: [
    { tool: 'read_file', ...READ },
    { tool: 'pay', ...PAY },
  ],
};
const printed = (width: number, of = stats) => statsLines(of, { width, style: createStyle(false) });

it('tells turns, calls, times, decisions and doubts', () => {
  const text = printed(120).join('\n');
  expect(text).toMatch(/turns +31: 30 answered, 1 step limit/);
  expect(text).toMatch(/replies +70, 1 retried, p50/);
  expect(text).toMatch(/tokens +12,345 in, 0 out/);
  expect(text).toMatch(/read_file +120 +█{23}░ +98 % +3 +tool 1, timeout 1/);
  expect(text).toMatch(/\(all\) +124 +97 %/);
  expect(text).toMatch(/read_file +12 ms +2.5 s +2.5 s +1.6 MiB +2.0 KiB +4.8 MiB +4.8 MiB/);
  expect(text).toMatch(/pay +4 +1 +1 +1 +0 +2 +1 min/);
  expect(text).toMatch(/in doubt\nTOOL .*\npay +1 +1 +0 +0/);
});

it.each([20, 40, 60, 80, 200])('fits a terminal of %d columns', (width) => {
  expect(Math.max(...printed(width).map(widthOf))).toBeLessThanOrEqual(Math.max(width, 44));
});

it('leaves out what never happened', () => {
  const quiet = { ...stats, tools: [{ tool: 'read_file', ...READ }], all: READ };
  expect(printed(100, quiet).join('\n')).not.toMatch(/decisions|in doubt|\(all\)/);
  expect(printed(100, none)).toEqual(['There are no turns.']);
});

it('shows what a tool’s name hides', () => {
  const sly = { ...stats, tools: [{ tool: 'pay\u001b[2J\u202e', ...PAY }] };
  expect(printed(100, sly).join('\n')).not.toMatch(/\u001b|\u202e/);
});

it.each([
  [[10, 0, 0], 10, '██████████'],
  [[5, 0, 0], 10, '█████'],
  [[1000, 1, 0], 1001, '█████████░'],
  [[0, 1000, 1], 1001, '░░░░░░░░░·'],
  [[1, 0, 0], 100_000, '█'],
  [[0, 0, 0], 10, ''],
  [[3, 3, 3], 9, '███░░░···'],
])('draws %j of %d', (parts, most, bar) => {
  expect(barOf(parts, most, 10)).toBe(bar);
});

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [20_480, '20 KiB'],
  [3_500_000, '3.3 MiB'],
])('writes %d bytes as %s', (size, text) => {
  expect(sizeText(size)).toBe(text);
});

it('sets thousands apart', () => {
  expect(count(1234567)).toBe('1,234,567');
});
