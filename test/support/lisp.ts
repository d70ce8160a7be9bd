import { readFile, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWith } from './parts';
import { killLeftBehind } from '../../src/tools/run-process';

/** Tests that need SBCL and Swank. */
export const describeWithLisp = (title: string, tests: () => void): void =>
  describeWith('lisp', title, tests);

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
