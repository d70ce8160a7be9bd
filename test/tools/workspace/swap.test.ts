import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import { HOLDINGS, workspaceBench } from './bench';

/** Puts a link to the outside in the place of the folder `sub`, and back, as fast as it can. */
const SWAPPER = `
const { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
function reset() {
  for (const name of ['sub', 'link', 'kept']) rmSync(name, { recursive: true, force: true });
  mkdirSync('sub');
  symlinkSync('../outside', 'link');
}
for (;;) {
  try {
    renameSync('sub', 'kept');
    renameSync('link', 'sub');
    writeFileSync('kept/file.txt', 'mine\\n');
    renameSync('sub', 'link');
    renameSync('kept', 'sub');
  } catch {
    reset();
  }
  writeFileSync('../swapping', '');
}`;

/** Attempts of one attack: so many, or what fits into the time. */
const ATTEMPTS = 2000;
const MOST_MS = 1500;
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
  const bench = workspaceBench('descriptors');
  let swapper: ChildProcess;

  beforeEach(async () => {
    mkdirSync(join(bench.around(), 'outside'));
    writeFileSync(join(bench.around(), 'outside', 'file.txt'), SECRET);
    bench.put('sub/file.txt', 'mine\n');
    swapper = spawn(process.execPath, ['-e', SWAPPER], { cwd: bench.root(), stdio: 'ignore' });
    while (!existsSync(join(bench.around(), 'swapping'))) await new Promise(setImmediate);
  });
  afterEach(() => swapper.kill('SIGKILL'));

  it.each(ATTACKS)('%s %j never gets outside', async (tool, args) => {
    const said: string[] = [];
    const end = performance.now() + MOST_MS;
    for (let attempt = 0; attempt < ATTEMPTS && performance.now() < end; attempt++) {
      bench.put('mine.txt', 'mine\n');
      said.push((await bench.run(tool, args)).content);
      const stolen = join(bench.root(), 'stolen.txt');
      if (existsSync(stolen)) said.push(readFileSync(stolen, 'utf8'));
      rmSync(stolen, { force: true });
    }
    await stop(swapper);
    expect(said.filter((content) => content.includes('secret'))).toEqual([]);
    expect(readdirSync(join(bench.around(), 'outside'))).toEqual(['file.txt']);
    expect(readFileSync(join(bench.around(), 'outside', 'file.txt'), 'utf8')).toBe(SECRET);
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
    const bench = workspaceBench(holding);

    it('is not written through', async () => {
      bench.put('sub/file.txt', 'mine\n');
      const args = { path: 'sub/file.txt', content: 'evil\n' };
      const plan = await bench.plan('write_file', args);
      writeFileSync(join(bench.around(), 'file.txt'), 'mine\n');
      bench.replaceByLink('sub', '..');
      await expect(bench.handle('write_file', args, { plan })).rejects.toThrow(/link/);
      expect(readFileSync(join(bench.around(), 'file.txt'), 'utf8')).toBe('mine\n');
    });
  },
);
