import fc from 'fast-check';
import { SEALED_FIELDS } from '../../src/audit/format';
import { readLine, type ReadLine } from '../../src/audit/read';
import { readFields, redactLine } from '../../src/audit/redact';
import { fileOf, record, verifyLines } from './sample';

const read = (line: string): ReadLine => {
  const found = readLine(line);
  if (typeof found === 'string') throw new Error(found);
  return found;
};
const redact = (line: string, ...fields: (typeof SEALED_FIELDS)[number][]) =>
  redactLine(line, read(line), fields);

const lines = fileOf([record(1), record(2, { sealed: { arguments: '{"open":{"a":1}}' } })], { heads: [1] });

it('takes a value and its salt out, and the file is as signed as before', () => {
  const redacted = lines.map((line) => redact(line, 'approver'));
  expect(redacted.join()).not.toContain('the boss');
  const [salt = 'no salt'] = /(?<="approver":\[")[0-9a-f]{32}/.exec(lines.join()) ?? [];
  expect(redacted.join()).not.toContain(salt);
  expect(verifyLines(redacted)).toEqual({ ...verifyLines(lines), redacted: 1 });
});

it.each([
  ['one of two', ['reason'], 1],
  ['both', ['reason', 'approver'], 2],
  ['each there is', [...SEALED_FIELDS], 3],
] as const)('takes out %s', (_what, fields, count) => {
  expect(verifyLines(lines.map((line) => redact(line, ...fields)))).toMatchObject({
    redacted: count,
    signed: 2,
  });
});

it('changes nothing where there is nothing to take out, also when it was taken out before', () => {
  for (const line of lines) {
    expect(redact(line, 'content')).toBe(line);
    const once = redact(line, 'approver', 'arguments');
    expect(redact(once, 'approver', 'arguments')).toBe(once);
  }
});

it('keeps a file whole whatever is taken out', () => {
  const fields = fc.subarray([...SEALED_FIELDS]);
  fc.assert(
    fc.property(fc.array(fields, { minLength: 5, maxLength: 5 }), (each) => {
      const redacted = lines.map((line, index) => redact(line, ...(each[index] ?? [])));
      expect(verifyLines(redacted)).toMatchObject({ records: 2, signed: 2 });
    }),
  );
});

it('reads names of fields', () => {
  expect(readFields('approver, reason')).toEqual(['approver', 'reason']);
});

it.each(['', 'call', 'approver,', 'turn,reason'])('refuses %p as names of fields', (text) => {
  expect(() => readFields(text)).toThrow(
    expect.objectContaining({ code: 'usage', hint: expect.stringContaining('approver') }),
  );
});
