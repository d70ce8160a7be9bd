import { join } from 'node:path';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { manifest, packageSource } from '../../../src/cli/own-modules';
import { addInit, assertEmpty, projectFiles, writeFiles } from '../../../src/cli/commands/init';
import { root } from '../../support/build';
import { scratchDirectory } from '../../support/scratch';
import { runCommand } from '../command';

const { name } = manifest();
const filesOf = (directory: string) => projectFiles(directory, 'file:countersign.tgz');
const fileOf = (directory: string, path: string): string =>
  filesOf(directory).find((file) => file.path === path)?.text ?? '';

it('has an agent, its config, a test and what npm and git need, under their own names', () => {
  const paths = filesOf('/somewhere/clerk').map(({ path }) => path);
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

it.each(['.env*', '*.key', '*.keys', '*.pem', '*.secret'])('keeps %s out of git', (pattern) => {
  expect(fileOf('/somewhere/clerk', '.gitignore').split('\n')).toContain(pattern);
});

it('leaves no mark unfilled', () => {
  const text = filesOf('/somewhere/clerk').map((file) => file.text);
  expect(text.join('\n')).not.toMatch(/\{\{|undefined|"\^"/);
});

it('asks for every package that this one shares with the application, but for optional ones', () => {
  const { dependencies } = JSON.parse(fileOf('/somewhere/clerk', 'package.json'));
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const shared = Object.entries(peerDependencies).filter(([name]) => !(name in peerDependenciesMeta));
  expect(shared.length).toBeGreaterThan(5);
  expect(dependencies).toMatchObject(Object.fromEntries(shared));
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
    dependencies: { [name]: 'file:countersign.tgz' },
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

describe('where the project gets this package from', () => {
  const initIn = async (...args: string[]) => {
    const directory = join(scratch(), 'new');
    const { printed } = await runCommand(addInit, {}, 'init', directory, ...args);
    const written = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return { source: written.dependencies[name], printed: printed.join('\n'), directory };
  };

  it.each(['^1.2.3', 'https://example.org/countersign.tgz'])('%s is written as it stands', async (from) => {
    expect(await initIn('--from', from)).toMatchObject({ source: from });
  });

  it('a tarball goes into the project', async () => {
    writeFileSync(join(scratch(), 'countersign-9.9.9.tgz'), 'packed');
    const { source, printed, directory } = await initIn('--from', join(scratch(), 'countersign-9.9.9.tgz'));
    expect(source).toBe('file:countersign-9.9.9.tgz');
    expect(printed).toContain('countersign-9.9.9.tgz');
    expect(readFileSync(join(directory, 'countersign-9.9.9.tgz'), 'utf8')).toBe('packed');
  });

  it('a folder is packed into it', async () => {
    mkdirSync(join(scratch(), 'own'));
    writeFileSync(join(scratch(), 'own', 'package.json'), '{ "name": "own", "version": "1.0.0" }');
    const { source, directory } = await initIn('--from', join(scratch(), 'own'));
    expect(source).toBe('file:own-1.0.0.tgz');
    expect(existsSync(join(directory, 'own-1.0.0.tgz'))).toBe(true);
  });

  it('a file that is not there is named', async () => {
    await expect(initIn('--from', 'file:gone.tgz')).rejects.toMatchObject({
      code: 'usage',
      message: 'cannot read gone.tgz: there is no such file or folder',
    });
  });
});

describe('how this package was installed', () => {
  const installed = (packages: object): string => {
    const root = join(scratch(), 'node_modules', name);
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, '..', '.package-lock.json'), JSON.stringify({ packages }));
    return root;
  };
  const { version } = manifest();

  it.each([
    ['the registry', `https://registry.npmjs.org/${name}/-/${name}-${version}.tgz`, `^${version}`],
    ['a web server', 'https://example.org/it.tgz', 'https://example.org/it.tgz'],
    ['nobody knows', undefined, `^${version}`],
  ])('from %s', (_, resolved, source) => {
    expect(packageSource(installed({ [`node_modules/${name}`]: { resolved } }))).toBe(source);
  });

  it('from a tarball', () => {
    const root = installed({ [`node_modules/${name}`]: { resolved: 'file:../it.tgz' } });
    expect(packageSource(root)).toBe(`file:${join(scratch(), '..', 'it.tgz')}`);
  });

  it('as a clone', () => {
    expect(packageSource(scratch())).toBeUndefined();
  });
});
