import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probeBinary } from '../../src/engine/probe';
import { fakeTemporal, scratchDirectory, writeScript } from '../support/scratch';

const scratch = scratchDirectory();
const file = (): string => join(scratch(), 'temporal');

it('tells the version of a binary that runs', async () => {
  expect(await probeBinary(fakeTemporal(file()))).toEqual({ version: '1.8.2' });
});

it.each([
  ['fails', ['echo broken >&2', 'exit 3'], /--version failed: broken/],
  ['fails in silence', ['exit 3'], /it said nothing/],
  [
    'is something else',
    ['echo "coreutils 9.1"'],
    /is not Temporal's command line: it answers "coreutils 9.1"/,
  ],
  [
    'is too old',
    ['echo "temporal version 1.0.0 (Server 1.24.2)"'],
    /is version 1.0.0; 1.4.0 or newer is needed/,
  ],
  ['is ended by a signal', ['kill -9 $$'], /--version failed/],
])('refuses a binary that %s', async (_what, lines, message) => {
  expect(await probeBinary(writeScript(file(), ...lines))).toEqual({
    missed: expect.stringMatching(message),
  });
});

it('tells a binary that is not there from one that does not work', async () => {
  expect(await probeBinary(file())).toEqual({ missed: `${file()} does not exist`, absent: true });
});

it('tells that a file may not be run', async () => {
  writeFileSync(file(), 'text');
  chmodSync(file(), 0o644);
  expect(await probeBinary(file())).toEqual({ missed: expect.stringContaining('permission denied') });
});

it('refuses half a binary', async () => {
  writeFileSync(file(), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]));
  chmodSync(file(), 0o755);
  expect(await probeBinary(file())).toEqual({ missed: expect.stringContaining(file()) });
});
