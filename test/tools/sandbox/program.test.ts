import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../../../src/tools/sandbox/program';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();
const at = (...names: string[]): string => join(scratch(), ...names);

beforeEach(() => {
  for (const folder of ['a', 'b', 'c']) mkdirSync(at(folder));
  for (const folder of ['a', 'b', 'c']) writeFileSync(at(folder, 'tool'), '');
  for (const folder of ['b', 'c']) chmodSync(at(folder, 'tool'), 0o755);
});

it.each<[string, readonly string[], string | undefined]>([
  ['the first that may be run', ['a', 'b', 'c'], 'b'],
  ['none that may not be run', ['a'], undefined],
  ['none in a folder that is not there', ['nowhere'], undefined],
  ['none without folders', [], undefined],
])('finds %s', (_case, folders, found) => {
  const path = folders.map((folder) => at(folder)).join(':');
  expect(findProgram('tool', path)).toBe(found && at(found, 'tool'));
});

it('finds nothing in a folder that is not absolute', () => {
  expect(findProgram('package.json', '.::.')).toBeUndefined();
  expect(findProgram('bin/countersign.js', '.')).toBeUndefined();
});
