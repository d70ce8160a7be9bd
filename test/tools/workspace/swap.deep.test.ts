import { spawn, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import { isThorough } from '../../support/thorough';
import { HOLDINGS, workspaceFixture, type WorkspaceFixture } from './support';

/** Puts a link to the outside in the place of the folder `sub`, and back, as fast as it can. */
const SWAPPER = `
const { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
function reset() {
  for (const name of ['sub', 'link', 'kept']) rmSync(name, { recursive: true, force: true });
  mkdirSync('sub');
  symlinkSync('../outside', 'link');
}
function swap() {
  renameSync('sub', 'kept');
  renameSync('link', 'sub');
  writeFileSync('kept/file.txt', 'mine\\n');
  renameSync('sub', 'link');
  renameSync('kept', 'sub');
}
// The tool makes folders at the same time, so putting things back can fail too: the next round tries again.
for (let step = swap; ; ) {
  try {
    step();
    step = swap;
  } catch {
    step = reset;
  }
  writeFileSync('../swapping', '');
}`;

/** Attempts of one attack: so many, or what fits into the time. A whole run of everything takes longer over it. */
const ATTEMPTS = 2000;
const MOST_MS = isThorough ? 1500 : 250;
const SECRET = 'secret\n';

/** One attack: what is called, and what stands in the folder outside before each call. */
const ATTACKS: [string, JsonObject][] = [
  ['read_file', { path: 'sub/file.txt' }],
  ['list_directory', { path: 'sub' }],
  ['search_files', { path: 'sub', query: 'e' }],
  ['write_file', { path: 'sub/file.txt', content: 'evil\n' }],
  ['create_file', { path: 'sub/new.txt', content: 'evil\n' }],
  ['create_file', { path: 'sub/deep/new.txt', content: 'evil\n' }],
  ['delete_file', { path: 'sub/file.txt' }],
  ['move_file', { from: 'sub/file.txt', to: 'stolen.txt' }],
  ['move_file', { from: 'mine.txt', to: 'sub/given.txt' }],
];

describe('a folder that is swapped for a link while it is used, held by descriptors', () => {
  const fixture = workspaceFixture('descriptors');
  let swapper: ChildProcess;

  beforeEach(async () => {
    mkdirSync(join(fixture.around(), 'outside'));
    writeFileSync(join(fixture.around(), 'outside', 'file.txt'), SECRET);
    fixture.put('sub/file.txt', 'mine\n');
    swapper = spawn(process.execPath, ['-e', SWAPPER], { cwd: fixture.root(), stdio: 'ignore' });
    while (!existsSync(join(fixture.around(), 'swapping'))) await new Promise(setImmediate);
  });
  afterEach(() => swapper.kill('SIGKILL'));

  it.each(ATTACKS)('%s %j never gets outside', async (tool, args) => {
    const said: string[] = [];
    const end = performance.now() + MOST_MS;
    for (let attempt = 0; attempt < ATTEMPTS && performance.now() < end; attempt++) {
      fixture.put('mine.txt', 'mine\n');
      said.push((await fixture.run(tool, args)).content);
      const stolen = join(fixture.root(), 'stolen.txt');
      if (existsSync(stolen)) said.push(readFileSync(stolen, 'utf8'));
      rmSync(stolen, { force: true });
    }
    expect({ exitCode: swapper.exitCode, signal: swapper.signalCode }).toEqual({
      exitCode: null,
      signal: null,
    });
    await stop(swapper);
    expect(said.filter((content) => content.includes('secret'))).toEqual([]);
    expect(readdirSync(join(fixture.around(), 'outside'))).toEqual(['file.txt']);
    expect(readFileSync(join(fixture.around(), 'outside', 'file.txt'), 'utf8')).toBe(SECRET);
  });
});

/** Before the scratch directory goes away: the swapper would make it anew. */
async function stop(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

describe.each(HOLDINGS)(
  'a folder that became a link between proposal and approval, held by %s',
  (holding) => {
    const fixture = workspaceFixture(holding);

    it('is not written through', async () => {
      fixture.put('sub/file.txt', 'mine\n');
      const args = { path: 'sub/file.txt', content: 'evil\n' };
      const plan = await fixture.plan('write_file', args);
      writeFileSync(join(fixture.around(), 'file.txt'), 'mine\n');
      fixture.replaceByLink('sub', '..');
      await expect(fixture.handle('write_file', args, { plan })).rejects.toThrow(/link/);
      expect(readFileSync(join(fixture.around(), 'file.txt'), 'utf8')).toBe('mine\n');
    });
  },
);

/** What happens to the file between the look at it and the act, at the very moment that the act begins. */
const MEANWHILE: [string, (fixture: WorkspaceFixture) => void][] = [
  [
    'another file took its name',
    ({ put, root }) => {
      put('other.txt', 'precious\n');
      renameSync(join(root(), 'other.txt'), join(root(), 'a.txt'));
    },
  ],
  ['somebody wrote to it', ({ put }) => put('a.txt', 'precious\n')],
];

describe.each(HOLDINGS)('a file that changes after it was looked at, held by %s', (holding) => {
  const fixture = workspaceFixture(holding);

  it.each(
    MEANWHILE.flatMap(([what, act]) => [
      [what, 'delete_file', { path: 'a.txt' }, act] as const,
      [what, 'move_file', { from: 'a.txt', to: 'b.txt' }, act] as const,
    ]),
  )('is not acted on where %s: %s', async (_what, tool, args, act) => {
    fixture.put('a.txt', 'shown\n');
    const plan = await fixture.plan(tool, args);
    // The signal is asked between the two.
    const signal = new AbortController().signal;
    let isAsked = false;
    const trap = new Proxy(signal, {
      get: (target, name) => {
        if (name === 'aborted' && !isAsked) {
          isAsked = true;
          act(fixture);
        }
        return Reflect.get(target, name, target);
      },
    });
    await expect(fixture.handle(tool, args, { plan, signal: trap })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('changed just now'),
    });
    expect(isAsked).toBe(true);
    expect(readdirSync(fixture.root())).toEqual(['a.txt']);
    expect(fixture.text('a.txt')).toBe('precious\n');
  });
});

describe('a large file', () => {
  const large = workspaceFixture();

  it('over 512 MiB is bound by its size, time and ends', async () => {
    for (const change of ['head', 'tail', 'size', 'time'] as const) {
      const handle = openSync(join(large.root(), 'large'), 'w');
      ftruncateSync(handle, 513 * 1024 * 1024);
      const { text, plan } = await large.preview('delete_file', { path: 'large' });
      expect(text).toMatch(/SHA-256 of its size, time, first and last MiB [0-9a-f]{64}/);
      if (change === 'head') writeSync(handle, 'x', 1000);
      if (change === 'tail') writeSync(handle, 'x', 513 * 1024 * 1024 - 1);
      if (change === 'size') ftruncateSync(handle, 514 * 1024 * 1024);
      if (change === 'time') futimesSync(handle, 1, 1);
      closeSync(handle);
      expect(plan).toBeDefined();
      const bound = plan === undefined ? {} : { plan };
      await expect(large.handle('delete_file', { path: 'large' }, bound)).rejects.toThrow(
        /changed since this was approved/,
      );
      expect(existsSync(join(large.root(), 'large'))).toBe(true);
    }
    const { plan } = await large.preview('delete_file', { path: 'large' });
    await large.handle('delete_file', { path: 'large' }, plan === undefined ? {} : { plan });
    expect(readdirSync(large.root())).toEqual([]);
  });
});
