import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isThorough } from './thorough';
import { killLeftBehind } from '../../src/tools/run-process';

const LOADER = '/usr/share/common-lisp/source/slime/swank-loader.lisp';

const isHere = existsSync(LOADER) && spawnSync('sbcl', ['--version']).status === 0;

/** Tests that need SBCL and Swank: where they are missing the tests are skipped, and that is said. */
export const describeWithLisp = (title: string, tests: () => void): void => {
  // What runs every test has to have both.
  if (isHere || isThorough) return describe(title, tests);
  process.stderr.write(`skipped: ${title}. It needs SBCL and Swank (apt-get install sbcl cl-swank).\n`);
  describe.skip(title, tests);
};

/** All tests of a machine share what Swank is compiled to. */
export const lispStateDir = join(tmpdir(), `countersign-lisp-tests-${process.getuid?.() ?? 0}`);

/** A name for an image, which is ended after the tests of the file that calls this. */
export const lispImage = (): { name: string; dir: string } => {
  const name = `test-${randomUUID()}`;
  const dir = join(lispStateDir, 'lisp', name);
  afterAll(async () => {
    await endImage(dir);
    await rm(dir, { recursive: true, force: true });
  });
  return { name, dir };
};

/** Ends the image of a folder as a crash would. */
export const endImage = async (dir: string): Promise<void> => {
  const text = await readFile(join(dir, 'image.json'), 'utf8').catch(() => '');
  const [, mark] = /"mark":"(\w+)"/.exec(text) ?? [];
  if (mark !== undefined) await killLeftBehind(process.pid, mark);
};
