import fc from 'fast-check';
import { SEALED_FIELDS, type AuditRecord } from '../../../src/history/audit/format';
import { readLine, wrongValue } from '../../../src/history/audit/read';
import { continueChain } from '../../../src/history/audit/write';
import { NO_HASH } from '../../../src/history/audit/format';
import { fileOf, record, verifyLines } from './sample';

/** Text with everything that is hard to write down: quotes, controls, surrogates without their other half. */
const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('"', '\\', '\n', '\ud800', '\udfff', '\u007f', ']', '}'),
  ),
});
const facts = fc.dictionary(
  fc.constantFrom('call', 'tool', 'code', 'ms', 'success'),
  fc.oneof(text, fc.nat(), fc.boolean()),
);
const sealed = fc.dictionary(fc.constantFrom(...SEALED_FIELDS), text);
const records: fc.Arbitrary<AuditRecord> = fc
  .record({ facts, sealed, turn: text, event: fc.nat() })
  .map((more) => record(1, more));

it('writes ASCII in one line that reads back, whatever the text', () => {
  fc.assert(
    fc.property(records, (one) => {
      const line = continueChain({ next: 1, hash: NO_HASH }).append(one);
      expect(line).toMatch(/^[\x20-\x7e\x7f]*$/);
      const read = readLine(line);
      if (typeof read === 'string') throw new Error(read);
      expect(wrongValue(read)).toBeUndefined();
      expect(Object.fromEntries([...read.open].map(([name, pair]) => [name, JSON.parse(pair)[1]]))).toEqual({
        ...one.sealed,
      });
      const whole = JSON.parse(line);
      expect(whole).toMatchObject({ n: 1, type: one.type, turn: one.turn, event: one.event, ...one.facts });
      expect(JSON.stringify(JSON.parse(`${read.body}}`)).length).toBeLessThanOrEqual(read.body.length + 1);
    }),
  );
});

it('writes files that are whole, whatever the text', () => {
  fc.assert(
    fc.property(fc.array(records, { maxLength: 5 }), (some) => {
      expect(verifyLines(fileOf(some))).toMatchObject({ records: some.length, signed: some.length });
    }),
  );
});

it('hides equal values behind hashes that differ', () => {
  const [, one, two] = fileOf([record(1), record(2)]).map((line) => readLine(line));
  if (typeof one !== 'object' || typeof two !== 'object') throw new Error('no lines');
  expect(one.sealed.get('approver')).not.toBe(two.sealed.get('approver'));
});

it('never draws a salt twice', () => {
  const some = Array.from({ length: 3000 }, (_, event) => record(event));
  const salts = fileOf(some).flatMap((line) =>
    [...line.matchAll(/\["([0-9a-f]{32})"/g)].map(([, salt]) => salt),
  );
  expect(salts).toHaveLength(6000);
  expect(new Set(salts).size).toBe(6000);
});
