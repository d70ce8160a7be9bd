import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();

/** What the commands of a checkout make of an environment. */
const adapted = (env: Record<string, string>): Record<string, string> => {
  const module = JSON.stringify(join(root, 'scripts', 'surroundings.mjs'));
  const script = `import(${module}).then(({ adaptToMachine }) => {
    const env = ${JSON.stringify(env)}; adaptToMachine(env); console.log(JSON.stringify(env)); });`;
  return JSON.parse(
    execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
};

it('asks no proxy for what is on this machine, and leaves alone what was named', () => {
  const env = adapted({ HOME: scratch(), https_proxy: 'http://proxy.example:3128', no_proxy: 'intern, ::1' });
  expect(env).toMatchObject({ no_proxy: 'intern,::1,localhost,127.0.0.1' });
  expect(env['NO_PROXY']).toBe(env['no_proxy']);
});

it('leaves a home that can be written as it is', () => {
  const env = adapted({ HOME: scratch() });
  for (const name of ['XDG_CACHE_HOME', 'GOPATH']) expect(env).not.toHaveProperty(name);
});

it.each([
  // Not even root makes a folder in a file, or in this one.
  ['a file', () => join(scratch(), 'home')],
  ['where nobody makes folders', () => '/proc/nohome'],
])('keeps what it downloads in the checkout where the home cannot be written: %s', (_, place) => {
  const home = place();
  if (home.startsWith(scratch())) writeFileSync(home, '');
  expect(adapted({ HOME: home })).toMatchObject({
    XDG_CACHE_HOME: join(root, '.countersign', 'cache'),
    XDG_STATE_HOME: join(root, '.countersign', 'state'),
    GOPATH: join(root, '.countersign', 'go'),
  });
  expect(adapted({ HOME: home, GOMODCACHE: '/srv/go' })).not.toHaveProperty('GOPATH');
});
