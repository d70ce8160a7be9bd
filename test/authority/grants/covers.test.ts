import fc from 'fast-check';
import { covers } from '../../../src/authority/grants/covers';
import { type Condition, exactly, isExact } from '../../../src/authority/grants/narrowing';
import { plainText } from '../../../src/contract/text/spelling';
import type { Json, JsonObject } from '../../../src/contract/json';
import '../../support/properties';

const fits = (condition: Condition, value: Json): boolean => covers({ a: condition }, { a: value });
const prefix = (text: string): Condition => ({ is: 'prefix', prefix: text });
const glob = (text: string): Condition => ({ is: 'glob', glob: text });

describe('exact arguments', () => {
  const args: JsonObject = { cents: 500, to: { name: 'ann', tags: ['a', 'b'] }, note: 'x'.repeat(1000) };

  it('cover themselves, in whatever order they stand', () => {
    expect(isExact(exactly(args))).toBe(true);
    const { note, ...rest } = args;
    expect(covers(exactly(args), { ...(note === undefined ? {} : { note }), ...rest })).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ['another number', { ...args, cents: 501 }],
    ['a number as text', { ...args, cents: '500' }],
    ['one more argument', { ...args, force: true }],
    ['one argument less', { cents: 500, note: args['note'] ?? '' }],
    ['another order in a list', { ...args, to: { name: 'ann', tags: ['b', 'a'] } }],
    ['a long text that differs at its end', { ...args, note: `${'x'.repeat(999)}y` }],
    ['null in place of a value', { ...args, cents: null }],
  ])('do not cover %s', (_case, other) => {
    expect(covers(exactly(args), other)).toBe(false);
  });

  it('cover no argument that the object inherits', () => {
    expect(covers({}, {})).toBe(true);
    expect(covers({ toString: prefix('f') }, {})).toBe(false);
  });

  it('cover nothing but what is equal', () => {
    const json = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(json, json, (one, other) => {
        const [left, right] = [one, other].map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
        if (left === undefined || right === undefined) return;
        expect(covers(exactly(left), left)).toBe(true);
        if (covers(exactly(left), right)) expect(right).toEqual(left);
      }),
    );
  });
});

describe('a range', () => {
  it.each<[Json, boolean]>([
    [0, true],
    [10, true],
    [9.99, true],
    [10.01, false],
    [-1, false],
    ['5', false],
    ['', false],
    [null, false],
    [true, false],
    [[5], false],
  ])('from 0 to 10 takes %j: %s', (value, is) => {
    expect(fits({ is: 'range', min: 0, max: 10 }, value)).toBe(is);
  });

  it('may be open at one end', () => {
    expect(fits({ is: 'range', max: 10 }, -1e9)).toBe(true);
    expect(fits({ is: 'range', min: 10 }, 9)).toBe(false);
  });
});

describe('a prefix of a path', () => {
  it.each<[string, string, boolean]>([
    ['src/', 'src/a.ts', true],
    ['src/', './src/a.ts', true],
    ['src/', 'src//a.ts', true],
    ['src/', 'src/./b/a.ts', true],
    ['src/', 'src', false],
    ['src/', 'src/../secret', false],
    ['src/', 'a/../src/b', false],
    ['src/', 'SRC/a.ts', false],
    ['src/', '/src/a.ts', false],
    ['src/', 'src/..', false],
    ['src/', 'src/...', false],
    ['src/', 'src/a. ', false],
    ['src/', 'src/a.', false],
    ['src/', 'src\\..\\secret', false],
    ['src/', 'src/a\u0000.ts', false],
    ['src/', 'src/\u202ea.ts', false],
    ['src/', `src/${'a'.repeat(5000)}`, false],
    ['/work/', '/work/a', true],
    ['/work/', '//work/a', true],
    ['ORD-', 'ORD-17', true],
    ['ORD-', 'x/../ORD-17', false],
    ['https', 'https://evil.example', false],
  ])('%s takes %j: %s', (begin, value, is) => {
    expect(fits(prefix(begin), value)).toBe(is);
  });
});

describe('a prefix of a URL', () => {
  const V1 = 'https://api.example.com/v1/';
  it.each<[string, string, boolean]>([
    [V1, 'https://api.example.com/v1/users?q=a/b', true],
    [V1, 'HTTPS://API.example.com/v1/users', true],
    [V1, 'https://api.example.com/v1/../admin', false],
    [V1, 'https://api.example.com/v1/%2e%2e/admin', false],
    [V1, 'https://api.example.com/v1/%2E%2e/admin', false],
    [V1, 'https://api.example.com/v1/%252e%252e/admin', false],
    [V1, 'https://api.example.com/v1/..%2fadmin', false],
    [V1, 'https://api.example.com/v1/.%5cadmin', false],
    [V1, 'https://api.example.com/V1/users', false],
    [V1, 'https://api.example.com./v1/users', false],
    [V1, 'https://api.example.com@evil.example/v1/users', false],
    [V1, 'https://api.example.com:8443/v1/users', false],
    [V1, 'http://api.example.com/v1/users', false],
    [V1, 'https:api.example.com/v1/users', false],
    [V1, 'https:/\u002fapi.example.com\\v1\\users', false],
    [V1, 'https://api.example.com\t/v1/users', false],
    ['https://example.com', 'https://example.com/a', true],
    ['https://example.com', 'https://example.com', true],
    ['https://example.com', 'https://example.com?a=1', true],
    ['https://example.com', 'https://example.com.evil.example/a', false],
    ['https://example.com', 'https://example.community/a', false],
    ['https://example.com', 'https://example.com@evil.example', false],
    ['https://example.com', 'src/https://example.com', false],
  ])('%s takes %j: %s', (begin, value, is) => {
    expect(fits(prefix(begin), value)).toBe(is);
  });
});

describe('a glob', () => {
  it.each<[string, string, boolean]>([
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/*.ts', 'src/.a.ts', false],
    ['src/**', 'src/a', true],
    ['src/**', 'src/a/b/c', true],
    ['src/**', 'src', false],
    ['src/**', 'src/', false],
    ['src/**', 'src/.git/config', false],
    ['src/**', 'src/../secret', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/b/c/a.ts', true],
    ['src/**/b.ts', 'src/ab.ts', false],
    ['src/**/b.ts', 'src/a/b.ts', true],
    ['**/*.md', 'README.md', true],
    ['**/*.md', 'docs/README.md', true],
    ['file-?.txt', 'file-1.txt', true],
    ['file-?.txt', 'file-12.txt', false],
    ['file-?.txt', 'file-/.txt', false],
    ['a*b*c', 'a12b3c', true],
    ['a*b*c', 'a12c3b', false],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['https://*.example.com/**', 'https://x.example.com/a/b', true],
    ['https://*.example.com/**', 'https://evil.example/.example.com/a', false],
    ['https://*.example.com/**', 'https://x.example.com/%2e%2e/a', false],
    ['*', 'https://evil.example', false],
    ['**', 'any\ntext ../..', true],
  ])('%s takes %j: %s', (pattern, value, is) => {
    expect(fits(glob(pattern), value)).toBe(is);
  });

  it('takes texts only', () => {
    for (const value of [1, null, ['a'], { a: 'a' }]) expect(fits(glob('**'), value)).toBe(false);
  });

  it('comes to an end with a hostile pattern and a long text', () => {
    expect(fits(glob(`${'*a'.repeat(100)}`), 'a'.repeat(4000))).toBe(true);
    expect(fits(glob(`${'**/'.repeat(60)}b`), 'a/'.repeat(2000))).toBe(false);
  });
});

describe('a text that climbs', () => {
  it('has no plain form, wherever it does', () => {
    const part = fc.constantFrom('a', 'b.c', '.', '..', '', 'src');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const plain = plainText(parts.join('/'));
        if (parts.includes('..')) expect(plain).toBeUndefined();
        else
          expect(plain?.split('/').filter((one) => one === '.' || one === '..')).toEqual(
            parts.length === 1 && parts[0] === '.' ? ['.'] : [],
          );
      }),
    );
  });
});
