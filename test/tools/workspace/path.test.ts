import fc from 'fast-check';
import { explainSystemError, onOneLine, orIfMissing } from '../../../src/tools/workspace/path';
import { isToolError, ToolError } from '../../../src/tools/errors';

it.each([
  ['src/a b.ts', 'src/a b.ts'],
  ['naïve 📁', 'naïve 📁'],
  ['a\nb', '"a\\nb"'],
  ['a\u0085b', '"a\\u0085b"'],
  ['a\u2028b', '"a\\u2028b"'],
  ['\u202ecod.exe', '"\\u202ecod.exe"'],
  ['x (link)', '"x (link)"'],
  ['(empty)', '"(empty)"'],
  ['  indented', '"  indented"'],
  ['"quoted"', '"\\"quoted\\""'],
])('%j is written as %s', (path, line) => {
  expect(onOneLine(path)).toBe(line);
});

it('is one visible line, and differs from every other name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (path) => {
      const line = onOneLine(path);
      expect(line).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(line.startsWith('"') ? JSON.parse(line) : line).toBe(path);
    }),
  );
});

const systemError = (code: string): Error => Object.assign(new Error(`${code}: /srv/private/a`), { code });

it.each([
  ['ENOENT', /"a\.txt" does not exist/],
  ['ELOOP', /is a link; links are not followed/],
  ['EACCES', /permission denied/],
  ['EBUSY', /could not be replaced: something is mounted there/],
  ['EMFILE', /could not be used \(EMFILE\)/],
])('%s is explained without a path of this machine', (code, message) => {
  const error = explainSystemError(systemError(code), 'a.txt');
  expect(isToolError(error)).toBe(true);
  expect(String(error)).toMatch(message);
  expect(String(error)).not.toContain('/srv/private');
});

it.each<[string, unknown]>([
  ['a ToolError', new ToolError('no')],
  ['an error without a code', new Error('bug')],
  ['a code that is not of the system', Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' })],
])('%s stays as it is', (_, error) => {
  expect(explainSystemError(error, 'a.txt')).toBe(error);
});

describe('what may be missing', () => {
  it('gives the value where it exists', async () => {
    expect(await orIfMissing(Promise.resolve(7), null)).toBe(7);
  });

  it('gives the other value where it does not exist', async () => {
    const missing = Promise.reject(explainSystemError(systemError('ENOENT'), 'a.txt'));
    expect(await orIfMissing(missing, null)).toBeNull();
  });

  it('passes every other error through', async () => {
    const denied = Promise.reject(explainSystemError(systemError('EACCES'), 'a.txt'));
    await expect(orIfMissing(denied, null)).rejects.toThrow('permission denied');
  });
});
