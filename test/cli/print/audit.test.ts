import { exportLines, progressLine, redactLines, verifyLines } from '../../../src/cli/print/audit';
import { createStyle } from '../../../src/cli/print/style';

const look = { width: 200, style: createStyle(false) };
const HASH = 'a'.repeat(64);
const verified = {
  namespace: 'default',
  key: 'b'.repeat(64),
  records: 1200,
  signed: 1200,
  redacted: 3,
  head: { n: 1201, at: '2026-11-21T12:00:00.000Z', hash: HASH },
  end: { next: 1202, hash: HASH },
  pinned: true,
};

it.each([
  [{ runs: 0, done: 0, gone: 0 }, 'listing turns'],
  [{ runs: 4000, done: 1234, gone: 0 }, 'read 1,234 of 4,000 histories'],
])('tells how far it is: %j', (progress, line) => {
  expect(progressLine(progress)).toBe(line);
});

it('tells what is new, and the head to keep', () => {
  const lines = exportLines(
    'a.jsonl',
    { added: 12, dropped: 3, records: 1200, head: { n: 1201, hash: HASH }, gone: 2 },
    look,
  );
  expect(lines).toEqual([
    'a.jsonl: 12 new records, signed',
    'records  1,200',
    `head     1201 ${HASH}`,
    'cut off  3 records that nobody had signed; what history has of them is written again',
    'deleted  2 histories while they were listed',
    expect.stringContaining('Keep the head'),
  ]);
});

it('says so where nothing is new', () => {
  const lines = exportLines(
    'a.jsonl',
    { added: 0, dropped: 0, records: 5, head: { n: 6, hash: HASH }, gone: 0 },
    look,
  );
  expect(lines[0]).toBe('a.jsonl: nothing new, signed');
  expect(lines).toHaveLength(3);
});

it.each([
  ['a pinned key', {}, /\(the one you gave\)/, /pin yours/],
  ['the key of the file', { pinned: false }, /\(named by the file itself\)[^]*pin yours/, /you gave/],
  ['a tail that nobody signed', { signed: 1000 }, /1,200, of them signed: 1,000/, /pin yours/],
])('tells what is known of a file with %s', (_what, more, says, saysNot) => {
  const text = verifyLines('a.jsonl', { ...verified, ...more }, look).join('\n');
  expect(text).toMatch(says);
  expect(text).not.toMatch(saysNot);
});

it('tells what was taken out', () => {
  expect(redactLines({ file: 'a\u001b.jsonl', taken: 2, redacted: 5 }, look)).toEqual([
    'a\\x1b.jsonl: took out 2 values; 5 are out in all',
  ]);
});
