import fc from 'fast-check';
import type { Issue } from '../../src/contract/tool';
import { describeIssues, readJson, readNumber } from '../../src/contract/read-json';

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

it.each(['null', ' [1, 2.50, -0, 1e2, 1.0] ', '"😀"', '{"a":{"a":1},"b":[{"a":1},{"a":2}]}', nested(64)])(
  'reads %s',
  (text) => {
    expect(readJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
  },
);

it.each<[string, string, string, RegExp]>([
  ['a key that is there twice', '{"a":[{"b":1,"c":2,"b":3}]}', '/a/0/b', /twice/],
  ['a key that is there twice, spelt otherwise', '{"b":1,"\\u0062":2}', '/b', /twice/],
  ['a key __proto__', '{"a/b":{"__proto__":1}}', '/a~1b/__proto__', /not allowed/],
  ['an integer that would become another', '[0,9007199254740993]', '/1', /become 9007199254740992;/],
  ['a fraction that would become another', '{"n":0.1000000000000000055}', '/n', /become 0.1;/],
  ['a number that is too large', '1e400', '', /too large/],
  ['a number that is too small', '1e-400', '', /become 0;/],
  ['half a character, as an escape', '["\\ud83d"]', '/0', /half a character/],
  ['half a character, as it is', '["a\udc00"]', '/0', /half a character/],
  ['half a character in a key', '{"\\udc00":1}', '/\udc00', /half a character/],
  ['65 levels', nested(65), '', /64 levels/],
  ['a million levels', nested(1e6), '', /64 levels/],
  ['text after it', '1 2', '', /not JSON/],
  ['nothing', '', '', /not JSON/],
])('refuses %s, with its place', (_what, text, path, message) => {
  expect(readJson(text)).toEqual({ ok: false, issues: [{ path, message: expect.stringMatching(message) }] });
});

it('takes two halves that make one character, however they are written', () => {
  expect(readJson('["\ud83d\\ude00","\\ud83d\ude00"]')).toEqual({ ok: true, value: ['😀', '😀'] });
});

it('reads what looks like traps inside text', () => {
  const value = { '"': '{"a":1,"a":2}\\', b: '\\"9007199254740993', c: '\\\\' };
  expect(readJson(JSON.stringify(value))).toEqual({ ok: true, value });
});

it('stops at 20 mistakes and tells five', () => {
  const read = readJson(`[${Array(1000).fill('1e400').join(',')}]`);
  expect(read).toMatchObject({ ok: false, issues: { length: 20 } });
  expect(read.ok ? '' : describeIssues(read.issues)).toMatch(/^\/0: [^;]*;.*\/4: [^/]*$/);
});

it('takes a limit of levels', () => {
  expect(readJson(nested(3), 3).ok).toBe(true);
  expect(readJson(nested(3), 2).ok).toBe(false);
});

it.each<[Issue[], string]>([
  [[], ''],
  [[{ path: '', message: 'too long' }], 'too long'],
  [
    [
      { path: '/a', message: 'missing' },
      { path: '', message: 'bad' },
    ],
    '/a: missing; bad',
  ],
  [Array.from({ length: 7 }, () => ({ path: '', message: 'x' })), 'x; x; x; x; x; and 2 more'],
])('issues are one line: %j', (issues, line) => {
  expect(describeIssues(issues)).toBe(line);
});

it.each([
  ['1', 1],
  ['-1.50', -1.5],
  ['1.', 1],
  ['.5', 0.5],
  ['1e3', 1000],
  [' 7 ', 7],
  ['', undefined],
  ['1,5', undefined],
  ['0x10', undefined],
  ['1e999', undefined],
  ['Infinity', undefined],
  ['9007199254740993', undefined],
  ['0.1000000000000000055', undefined],
])('a person who types %j means the number %j', (typed, number) => {
  expect(readNumber(typed)).toBe(number);
});

describe('exact numbers', () => {
  it.each(['0', '-0', '0.0', '0e999999999999', '1.0', '1e2', '0.10', '100e-2', '1e22', '9007199254740992'])(
    '%s stays what it is',
    (written) => {
      expect(readNumber(written)).toBe(Number(written));
    },
  );

  it.each([
    '9007199254740993',
    '9007199254740993.0',
    '90071992547409930e-1',
    '1e400',
    '-1e400',
    '1e-400',
    '0.30000000000000001',
  ])('%s does not', (written) => {
    expect(readNumber(written)).toBeUndefined();
  });

  it('are those whose digits are those that are written back', () => {
    const digits = fc.stringMatching(/^\d{1,25}$/);
    fc.assert(
      fc.property(digits, digits, fc.integer({ min: -330, max: 330 }), (whole, fraction, power) => {
        const written = `${Number(whole[0])}${whole.slice(1)}.${fraction}e${power}`;
        expect(readNumber(written) !== undefined).toBe(scaled(written) === scaled(String(Number(written))));
      }),
    );
  });

  it('are found among every number that JavaScript writes', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) =>
        Object.is(readNumber(String(n)), Number(String(n))),
      ),
    );
  });
});

/** The value times 10^800, exactly: everything a double or the numbers above can be is a whole number then. */
function scaled(written: string): bigint | undefined {
  const [, whole = '', fraction = '', power = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(written) ?? [];
  if (whole === '') return undefined;
  return BigInt(whole + fraction) * 10n ** BigInt(800 - fraction.length + Number(power));
}

it('gives what JSON.parse gives, for all that it takes', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      const read = readJson(text);
      if (read.ok) expect(JSON.stringify(read.value)).toBe(JSON.stringify(JSON.parse(text)));
      else expect(text).toMatch(/__proto__/);
    }),
  );
});

it.each<[string, string]>([
  ['digits', '7'.repeat(2e6)],
  ['zeros', `0.${'0'.repeat(2e6)}1`],
  ['a text of quotes and backslashes', JSON.stringify('"\\'.repeat(5e5))],
  ['numbers', `[${'0.25,'.repeat(4e5)}1]`],
  ['keys', `{${Array.from({ length: 1e5 }, (_, n) => `"k${n}":1`).join(',')}}`],
  ['brackets', nested(1e6)],
])('reads 2 MB of %s, in a pass that is linear', (_what, text) => {
  // One that is not takes minutes, and the test's own time ends it.
  expect(() => readJson(text)).not.toThrow();
});
