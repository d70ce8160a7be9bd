import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BY_EQUALITY, isRunArgument, isRunTool } from '../../../src/authority/grants/by-equality';
import { root } from '../../support/build';

it.each<[string, boolean]>([
  ['command', true],
  ['commandLine', true],
  ['SQL', true],
  ['path', false],
  ['commands', false],
])('an argument named %s is run: %s', (name, isRun) => {
  expect(isRunArgument(name)).toBe(isRun);
});

it.each<[string[], boolean]>([
  [['files', 'shell'], true],
  [['execution'], true],
  [['files'], false],
  [[], false],
])('a tool of the categories %j runs its arguments: %s', (categories, isRun) => {
  expect(isRunTool(categories)).toBe(isRun);
});

it('is what the page on grants says, name by name', () => {
  const page = readFileSync(join(root, 'docs', 'grants.md'), 'utf8');
  const line = page.split('\n').find((one) => one.toLowerCase().startsWith(BY_EQUALITY)) ?? '';
  const [names = '', categories = ''] = line.split('categories');
  const quoted = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].flatMap(([, name]) => name ?? []);
  expect(quoted(names)).toHaveLength(8);
  expect(quoted(names).filter((name) => !isRunArgument(name))).toEqual([]);
  expect(quoted(categories)).toHaveLength(2);
  expect(quoted(categories).filter((name) => !isRunTool([name]))).toEqual([]);
});
