import { fitsPattern, nearHint, nearNames } from '../../src/tools/tool-names';

it.each([
  ['github__*', 'github__list_issues', true],
  ['github__*', 'github__', true],
  ['github__*', 'git__hub', false],
  ['github__list_issues', 'github__list_issues', true],
  ['github__list', 'github__list_issues', false],
  ['github__*_issues', 'github__list_issues', true],
  ['github__*_issues', 'github__issues', false],
  ['*', 'anything', true],
  ['a*b*a', 'aba', true],
  ['a*a', 'a', false],
  ['a*ab', 'ab', false],
  ['read_*', 'thread_list', false],
])('%s takes %s: %p', (pattern, name, fits) => {
  expect(fitsPattern(pattern, name)).toBe(fits);
});

it('takes no longer for a pattern that has many ways to fit', () => {
  expect(fitsPattern(`${'a*'.repeat(1000)}b`, 'a'.repeat(5000))).toBe(false);
});

it.each([
  ['github__list_isues', ['github__list_issues', 'github__list_issue']],
  ['gihub__*', ['github__*']],
  ['read', ['red']],
  ['weather', []],
])('near %s is %j', (wanted, near) => {
  const names = ['github__list_issues', 'github__list_issue', 'github__*', 'red', 'files__write_all_of_them'];
  expect(nearNames(wanted, names)).toEqual(near);
});

it('says three names at most, and nothing where none is near', () => {
  expect(nearHint('abcd', ['abce', 'abcf', 'abcg', 'abch', 'abce'])).toBe('; near it: abce, abcf, abcg');
  expect(nearHint('abcd', ['zzzzzzzz'])).toBe('');
});
