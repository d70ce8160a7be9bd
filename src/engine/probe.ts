import type { Miss } from './engine';
import { describeError, errnoOf, run } from './run';
import { atLeast, CLI_OLDEST, findVersion } from './version';

/** What `temporal --version` told: usable, or why not. */
export type Probe = { version: string } | Miss;

/** How long a binary may take to tell its version: a cold disk is slow, a hanging wrapper is no server. */
const PROBE_MS = 20_000;

/** Runs `<binary> --version` and judges the answer. Never throws. */
export const probeBinary = async (binary: string, env: NodeJS.ProcessEnv = process.env): Promise<Probe> => {
  try {
    const { code, lines } = await run(binary, ['--version'], { env, timeoutMs: PROBE_MS });
    return code === 0
      ? judge(binary, lines.join(' '))
      : { missed: `${binary} --version failed: ${tail(lines)}` };
  } catch (error) {
    return whyNotStarted(binary, error);
  }
};

const judge = (binary: string, text: string): Probe => {
  const version = /temporal version/i.test(text) ? findVersion(text) : undefined;
  if (version === undefined)
    return { missed: `${binary} is not Temporal's command line: it answers "${text.slice(0, 80)}"` };
  if (!atLeast(version, CLI_OLDEST))
    return { missed: `${binary} is version ${version}; ${CLI_OLDEST} or newer is needed` };
  return { version };
};

const tail = (lines: string[]): string => lines.slice(-3).join(' ') || 'it said nothing';

const whyNotStarted = (binary: string, error: unknown): Miss => {
  const code = errnoOf(error);
  if (code === 'ENOENT') return { missed: `${binary} does not exist`, absent: true };
  if (code === 'EACCES') return { missed: `${binary} may not be run (permission denied)` };
  return { missed: `${binary} cannot be run: ${describeError(error)}` };
};
