import { chownSync, readdirSync, readFileSync } from 'node:fs';
import { describeWith } from './parts';
import { scratchDirectory } from './scratch';
import { until } from './until';

/** Tests that need bubblewrap. */
export const describeWithBubblewrap = (title: string, tests: () => void): void =>
  describeWith('bubblewrap', title, tests);

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

/** Seconds for a `sleep` that no other run of the tests has: they look for it on the whole machine. The number has two digits. */
export const lasting = (number: number): string => `86399.${number}${String(process.pid).padStart(7, '0')}`;

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
