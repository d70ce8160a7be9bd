import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../support/build';

/** How a command of ours ended. */
export interface Ended {
  code: number;
  out: string;
  /** What a person reads when it fails. */
  err: string;
}

const CLI = join(root, 'bin', 'countersign.js');

/** Runs `countersign` as somebody who has only these settings of Temporal's; ends it after a minute. */
export const countersign = (args: readonly string[], settings: Record<string, string>): Promise<Ended> => {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  const nowhere = { TEMPORAL_CONFIG_FILE: join(root, 'no-such-temporal.toml'), NO_COLOR: '1' };
  const env = { ...Object.fromEntries(own), ...nowhere, ...settings };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [CLI, ...args],
      { env, cwd: root, timeout: 60_000, killSignal: 'SIGKILL' },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
      },
    );
  });
};
