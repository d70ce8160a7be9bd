import { type Condition, type Narrowing, narrowingProblem } from '../../../src/authority/grants/narrowing';

const prefix = (text: string): Condition => ({ is: 'prefix', prefix: text });
const glob = (text: string): Condition => ({ is: 'glob', glob: text });

describe('what somebody gives', () => {
  it.each<[string, Narrowing, RegExp]>([
    ['a range without an end', { a: { is: 'range' } }, /at least one end/],
    ['a range in which nothing lies', { a: { is: 'range', min: 2, max: 1 } }, /nothing lies/],
    ['an empty prefix', { a: prefix('') }, /1 to 200 characters/],
    ['a prefix that climbs', { a: prefix('src/../') }, /climbs/],
    ['a glob that climbs', { a: glob('../**') }, /climbs/],
    ['a backslash', { a: prefix('src\\') }, /backslash/],
    ['a URL with a user', { a: prefix('https://a@example.com') }, /not a clear beginning/],
    ['a URL with an escape', { a: prefix('https://example.com/%2e') }, /not a clear beginning/],
    ['a glob of every host', { a: glob('https://*/**') }, /its host is a name/],
    ['a glob of half a host', { a: glob('https://api*.com/**') }, /its host is a name/],
    ['a star of stars within a part', { a: glob('src/a**') }, /stands alone/],
    ['a command', { command: prefix('git ') }, /by equality only/],
    ['too much', { a: { is: 'equal', value: 'x'.repeat(5000) } }, /over 4096 bytes/],
  ])('is refused: %s', (_case, narrowing, why) => {
    expect(narrowingProblem(narrowing)).toMatch(why);
  });

  it('is fine otherwise', () => {
    const fine = {
      path: glob('src/**/*.ts'),
      url: prefix('https://example.com/v1'),
      host: glob('https://*.example.com/**'),
      cents: { is: 'range', max: 100 },
      command: { is: 'equal', value: 'git status' },
    } as const;
    expect(narrowingProblem(fine)).toBeUndefined();
  });
});
