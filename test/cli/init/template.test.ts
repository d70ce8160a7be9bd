import { join } from 'node:path';
import { manifest } from '../../../src/cli/own-modules';
import { projectFiles } from '../../../src/cli/init/template';

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
