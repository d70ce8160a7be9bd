import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/build';
import { startExample, type RunningExample } from './start-example';
import { approveSeen, sawOf } from '../cli/saw';

const ORIGINAL = join(root, 'examples', 'maintainer', 'repository');
const FIXED = 'Math.round(lines.reduce(';
const ALSO = 'Math.trunc(';

let maintainer: RunningExample;

beforeAll(async () => {
  maintainer = await startExample('maintainer', 'REPOSITORY');
});

beforeEach(() => cp(ORIGINAL, maintainer.folder, { recursive: true }));

afterAll(() => maintainer.stop());

const fileIn = (folder: string): Promise<string> => readFile(join(folder, 'src', 'price.mjs'), 'utf8');

/** Whether the repository's own tests pass. */
const passes = (): Promise<boolean> =>
  promisify(execFile)(process.execPath, ['--test'], { cwd: maintainer.folder, env: {} }).then(
    () => true,
    () => false,
  );

it.each([
  ['approve', [], { says: 'The tests pass now.', fixed: true, also: true }],
  [
    'approve',
    ['--hunks', '1', '--reason', 'only this'],
    { says: 'The tests pass now.', fixed: true, also: false },
  ],
  [
    'approve',
    ['--set', 'edits.1.new_text=const whole = ~~(cents / 100);', '--reason', 'shorter'],
    { says: 'The tests pass now.', fixed: true, also: false, again: true },
  ],
  ['deny', ['--reason', 'I do it'], { says: 'The tests still fail.', fixed: false, also: false }],
])('is decided with %s %j', async (verb, words, { says, fixed, also, again = false }: Wanted) => {
  const turn = await maintainer.waiting('maintainer', 'make the tests pass');
  const { out } = await maintainer.cli('show', `${turn}/3.1`);
  expect(out).toContain(`+  return ${FIXED}`);
  expect(await fileIn(maintainer.folder)).toBe(await fileIn(ORIGINAL));
  const saw = verb === 'approve' ? await sawOf(maintainer.cli, `${turn}/3.1`) : [];
  const { code } = await maintainer.cli(verb, `${turn}/3.1`, ...saw, ...words);
  // What a person wrote is a new diff, which nobody has seen yet.
  expect(code).toBe(again ? 6 : 0);
  if (again) await approveNew(turn);
  expect(await maintainer.end(turn)).toContain(says);
  const text = await fileIn(maintainer.folder);
  expect({ fixed: text.includes(FIXED), also: text.includes(ALSO) }).toEqual({ fixed, also });
  expect(text.includes('~~(')).toBe(again);
  expect(await passes()).toBe(fixed);
});

interface Wanted {
  says: string;
  fixed: boolean;
  also: boolean;
  again?: boolean;
}

async function approveNew(turn: string): Promise<void> {
  const { cli } = maintainer;
  const { out } = await cli('inbox', '--json');
  expect(JSON.parse(out)).toEqual([expect.objectContaining({ turn, callId: '3.1' })]);
  expect((await approveSeen(cli, `${turn}/3.1`)).code).toBe(0);
}
