import { z } from 'zod';
import { SAW_DIGITS } from '../../src/contract/digest';

/** Runs one command line of ours, as a shell would. */
type Cli<T extends { out: string }> = (...args: string[]) => Promise<T>;

const shown = z.object({ request: z.object({ seenDigest: z.string() }) });

/** Looks at a request as a person does before they decide, and returns the option that says so. */
export async function sawOf<T extends { out: string }>(cli: Cli<T>, target: string): Promise<string[]> {
  const { out } = await cli('show', target, '--json');
  return ['--saw', shown.parse(JSON.parse(out)).request.seenDigest.slice(0, SAW_DIGITS)];
}

/** Looks at a request, then approves it. */
export async function approveSeen<T extends { out: string }>(
  cli: Cli<T>,
  target: string,
  ...args: string[]
): Promise<T> {
  return cli('approve', target, ...(await sawOf(cli, target)), ...args);
}
