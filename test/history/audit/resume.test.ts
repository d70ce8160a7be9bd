import { createKnown } from '../../../src/history/audit/resume';
import { readLine } from '../../../src/history/audit/read';
import { fileOf, record } from './sample';

const noted = (...records: Parameters<typeof fileOf>[0]) => {
  const known = createKnown();
  for (const text of fileOf(records)) {
    const line = readLine(text);
    if (typeof line !== 'string') known.note(line);
  }
  known.settle();
  return known;
};

it.each([
  ['a record that is there', record(5, { part: 1 }), true],
  ['one before it', record(4), true],
  ['an earlier part of the same event', record(5), true],
  ['the next part', record(5, { part: 2 }), false],
  ['a later event', record(6), false],
  ['an early event of another run', record(1, { run: 'run-2' }), false],
])('knows whether a file has %s', (_what, one, expected) => {
  expect(noted(record(5), record(5, { part: 1 })).take(one)).toBe(expected);
});

it('believes only what a head vouches for', () => {
  const known = noted(record(1));
  const later = readLine(fileOf([record(2)])[1] ?? '');
  if (typeof later !== 'string') known.note(later);
  expect(known.take(record(2))).toBe(false);
});

it('takes each record once', () => {
  const known = createKnown();
  expect([known.take(record(1)), known.take(record(1)), known.take(record(2))]).toEqual([false, true, false]);
});

it.each([
  ['turn_ended', true],
  ['continued', true],
  ['outcome', false],
])('holds a run whose last record is %s for whole: %s', (type, expected) => {
  expect(noted(record(1), record(9, { type })).hasWhole('run-1')).toBe(expected);
});
