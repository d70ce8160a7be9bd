import fc from 'fast-check';
import { digestJson } from '../../src/contract/digest';
import {
  argsDigestOf,
  asciiJson,
  badSignatures,
  broken,
  notAudit,
  otherKey,
  unsigned,
} from '../../src/audit/format';
import { sha256 } from '../../src/system/sha256';

const OF_UE = '607474ca475a9724d7360aba71a56d5df77e61350e3f724cfa1f46e857e2d85f';

it.each<[string, string | Uint8Array, string]>([
  ['no text', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['text, as UTF-8', 'ü', OF_UE],
  ['its bytes, the same', new Uint8Array([0xc3, 0xbc]), OF_UE],
])('hashes %s', (_case, data, expected) => {
  expect(sha256(data)).toBe(expected);
});

it.each<[string, unknown, string]>([
  ['ASCII', { a: 'b' }, '{"a":"b"}'],
  ['an umlaut', 'ü', '"\\u00fc"'],
  ['a sign outside of the first plane, as two', '\u{1f600}', '"\\ud83d\\ude00"'],
  ['DEL', '\x7f', '"\\u007f"'],
  ['a line break', '\n', '"\\n"'],
  ['half a pair', '\ud800', '"\\ud800"'],
  ['a key', { ü: 1 }, '{"\\u00fc":1}'],
])('writes in ASCII: %s', (_case, value, json) => {
  expect(asciiJson(value)).toBe(json);
});

it('writes any JSON in printable ASCII, and it reads back as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = asciiJson(value);
      expect(json).toMatch(/^[ -~]*$/);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it.each([
  [
    'a record that was changed',
    broken({ index: 2, line: 3, reason: 'its hash does not fit' }),
    'audit_broken',
    'record 2 (line 3) is not as it was written: its hash does not fit',
    { index: 2, line: 3, reason: 'its hash does not fit' },
  ],
  [
    'a file of something else',
    notAudit('it begins with "PK"'),
    'audit_broken',
    'this audit file cannot be read: it begins with "PK"',
    undefined,
  ],
  [
    'another key',
    otherKey('aa', 'bb'),
    'audit_broken',
    'the file is signed with another key: aa',
    { found: 'aa', expected: 'bb' },
  ],
  [
    'records after the last head',
    unsigned({ signed: 3, records: 5 }),
    'audit_broken',
    '2 of 5 records come after the last signed head: nobody vouches for them',
    { signed: 3, unsigned: 2 },
  ],
  [
    'signatures that are not over what is on record',
    badSignatures(2),
    'audit_broken',
    '2 signed decisions do not hold: their signatures are not over what is on record',
    { bad: 2 },
  ],
])('says what is wrong and what to do: %s', (_case, error, code, message, data) => {
  expect(error).toMatchObject({ code, message, hint: expect.any(String) });
  if (data !== undefined) expect(error.data).toEqual(data);
});

describe('the digest of arguments', () => {
  it('is the one that decisions name, in whichever order the keys stand', () => {
    expect(argsDigestOf({ b: [1, 'ü'], a: null })).toBe(digestJson({ a: null, b: [1, 'ü'] }));
  });

  it('is missing where the arguments are not sound JSON', () => {
    expect(argsDigestOf({ amount: Number.NaN })).toBeUndefined();
  });
});
