import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../support/build';

const bootstrap = (...args: string[]): { status: number | null; stderr: string } =>
  spawnSync(process.execPath, [join(root, 'scripts', 'bootstrap.mjs'), ...args], { encoding: 'utf8' });

it.each([[[]], [['unknown']], [['toString']]])('refuses the command %j and names those there are', (args) => {
  const { status, stderr } = bootstrap(...args);
  expect(status).toBe(1);
  expect(stderr).toBe(
    'countersign: usage: bootstrap.mjs prepare|prepack|demo|example|test|test:unit|test:all|test:house|check|mass|test:mutants|test:nodes|test:cluster|bench|bench:scale|bench:chaos\n',
  );
});

it('refuses a check that does not exist', () => {
  const { status, stderr } = bootstrap('check', 'spelling');
  expect(status).toBe(1);
  expect(stderr).toContain('unknown check spelling; there are lint, format, page, mass, house');
});
