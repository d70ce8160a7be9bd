import { spawnSync } from 'node:child_process';
import { chownSync, readdirSync, readFileSync } from 'node:fs';
import { isThorough } from './thorough';
import { scratchDirectory } from './scratch';
import { until } from './until';

const isHere = ['bwrap', 'prlimit', 'setpriv'].every((name) => spawnSync(name, ['--version']).status === 0);

/** Tests that need bubblewrap: where it is missing the tests are skipped, and that is said. */
export const describeWithBubblewrap = (title: string, tests: () => void): void => {
  // What runs every test has to have it.
  if (isHere || isThorough) return describe(title, tests);
  process.stderr.write(
    `skipped: ${title}. It needs bubblewrap (apt-get install bubblewrap) and util-linux.\n`,
  );
  describe.skip(title, tests);
};

const NOBODY = 65_534;

/** Makes files somebody's whom root can become: Linux limits root in nothing. */
export const giveAway = (...paths: string[]): void => {
  if (process.geteuid?.() === 0) for (const path of paths) chownSync(path, NOBODY, NOBODY);
};

/** A folder of a test that programs in a sandbox can be given to write. */
export const sandboxDirectory = (): (() => string) => {
  const folder = scratchDirectory();
  beforeEach(() => giveAway(folder()));
  return folder;
};

/** Processes of this machine whose command line has a text. */
export const running = (text: string): string[] =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });

export const untilRunning = (text: string): Promise<true> =>
  until(`a process with ${text}`, () => (running(text).length > 0 ? true : undefined));

export const untilGone = (text: string): Promise<true> =>
  until(`the end of every process with ${text}`, () => (running(text).length === 0 ? true : undefined));
