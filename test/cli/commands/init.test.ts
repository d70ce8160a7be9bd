import { join } from 'node:path';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { manifest } from '../../../src/cli/own-modules';
import { assertEmpty, projectFiles, writeFiles } from '../../../src/cli/commands/init';
import { scratchDirectory } from '../../support/scratch';

const { name, version } = manifest();
const fileOf = (directory: string, path: string): string =>
  projectFiles(directory).find((file) => file.path === path)?.text ?? '';

it('has an agent, its config, a test and what npm and git need, under their own names', () => {
  const paths = projectFiles('/somewhere/clerk').map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      '.gitignore',
      'README.md',
      'agent.ts',
      'countersign.config.ts',
      'package.json',
      join('test', 'agent.test.ts'),
      'tsconfig.json',
    ]),
  );
  expect(paths).not.toContain('gitignore');
});

it('leaves no mark unfilled', () => {
  const text = projectFiles('/somewhere/clerk').map((file) => file.text);
  expect(text.join('\n')).not.toMatch(/\{\{|undefined|"\^"/);
});

it('asks for every package that this one shares with the application', () => {
  const { dependencies } = JSON.parse(fileOf('/somewhere/clerk', 'package.json'));
  expect(dependencies).toMatchObject(manifest().peerDependencies);
});

it.each([
  ['clerk', 'clerk'],
  ['My Clerk', 'my-clerk'],
  ['..clerk..', 'clerk..'],
  ['Straße 7', 'stra-e-7'],
  ['___', 'my-agent'],
  [name, 'my-agent'],
])('a project in %s is called %s', (directory, wanted) => {
  expect(JSON.parse(fileOf(join('/somewhere', directory), 'package.json'))).toMatchObject({
    name: wanted,
    dependencies: { [name]: `^${version}` },
  });
});

const scratch = scratchDirectory();

it.each<[string, string[]]>([
  ['is not there yet', []],
  ['holds a repository only', ['.git']],
  ['holds what a Mac leaves everywhere', ['.DS_Store', '.git']],
])('takes a directory that %s', async (_, names) => {
  const directory = join(scratch(), 'new');
  if (names.length > 0) mkdirSync(directory);
  for (const name of names) mkdirSync(join(directory, name));
  await expect(assertEmpty(directory, 'new')).resolves.toBeUndefined();
});

it.each<[string, string[], string]>([
  ['one file', ['a.txt'], 'new is not empty: it has a.txt'],
  ['a hidden one', ['.env'], 'new is not empty: it has .env'],
  ['many', ['d', 'c', 'b', 'a'], 'new is not empty: it has a, b, c, …'],
])('refuses a directory with %s', async (_, names, message) => {
  for (const name of names) writeFileSync(join(scratch(), name), '');
  await expect(assertEmpty(scratch(), 'new')).rejects.toMatchObject({ code: 'usage', message });
});

it('refuses what is a file', async () => {
  writeFileSync(join(scratch(), 'file'), '');
  await expect(assertEmpty(join(scratch(), 'file'), 'file')).rejects.toMatchObject({
    code: 'usage',
    message: 'cannot use file: a part of the path is a file',
  });
});

it('writes files in folders of their own', async () => {
  await writeFiles(join(scratch(), 'new'), [{ path: join('a', 'b.txt'), text: 'text' }]);
  expect(readFileSync(join(scratch(), 'new', 'a', 'b.txt'), 'utf8')).toBe('text');
});

it('overwrites nothing', async () => {
  writeFileSync(join(scratch(), 'b.txt'), 'mine');
  await expect(writeFiles(scratch(), [{ path: 'b.txt', text: 'other' }])).rejects.toMatchObject({
    code: 'usage',
    message: `cannot write ${join(scratch(), 'b.txt')}: it is there already`,
  });
  expect(readFileSync(join(scratch(), 'b.txt'), 'utf8')).toBe('mine');
});
