import { stat } from 'node:fs/promises';
import { type Approvers, loadApprovers } from './approvers-file';
import type { KnownNames } from './check-rules';
import type { PolicyRule } from '../../contract/policy-rule';
import { errorMessage } from '../../contract/errors';
import { loadPolicy, type PolicyRules } from './policy-file';

/** The approvers file of a running process. The file is read again when it changes. */
export interface ApproversSource {
  /** The current content of the file. If the file has mistakes or is gone, this is the last valid content. */
  current(): Promise<Approvers>;
}

/** The options of a source. */
interface SourceOptions {
  file: string;
  known?: KnownNames;
  /** Called with a line that says why the file cannot be used, once for each change of the file. */
  warn(line: string): void;
}

/** The least time between two checks whether the file has changed, in milliseconds. */
const LOOK_MS = 1000;

/**
 * Reads the file now, and again whenever it has changed.
 *
 * @throws CountersignError as `loadApprovers`, for the first read only. If the file has mistakes later, the source
 * warns and keeps the last valid content.
 */
export async function openApprovers({ file, known, warn }: SourceOptions): Promise<ApproversSource> {
  let mark = await markOf(file);
  let good = await loadApprovers(file, known);
  // `performance.now` does not change when somebody sets the time of day. A clock that is set back would leave a change
  // unread.
  let lookedAt = performance.now();
  let looking: Promise<void> | undefined;
  const look = async () => {
    const now = await markOf(file);
    if (now === mark) return;
    try {
      good = await loadApprovers(file, known);
    } catch (error) {
      warn(
        `the approvers file cannot be used; the last good one (${good.digest.slice(0, 12)}) holds: ${errorMessage(error)}`,
      );
    }
    mark = now;
  };
  return {
    async current() {
      if (looking === undefined && performance.now() - lookedAt >= LOOK_MS)
        looking = look().finally(() => {
          lookedAt = performance.now();
          looking = undefined;
        });
      await looking;
      return good;
    },
  };
}

/** The approvers file and the policy that a config names. */
interface AuthoritySources {
  file: string | undefined;
  policy: string | readonly PolicyRule[] | undefined;
  /** Absent: every name of a tool or an agent is accepted. */
  known: KnownNames | undefined;
  warn: SourceOptions['warn'];
}

/**
 * Opens the approvers file and the policy that a config names. The policy is read only once: a rule may let a dangerous
 * call run, so a change takes effect only with a new worker, like a change of the config.
 *
 * @throws CountersignError as `loadApprovers` and `loadPolicy`.
 */
export async function openAuthority({
  file,
  policy,
  known,
  warn,
}: AuthoritySources): Promise<{ approvers?: ApproversSource; rules?: PolicyRules }> {
  return {
    approvers: file === undefined ? undefined : await openApprovers({ file, known, warn }),
    rules: policy === undefined ? undefined : await loadPolicy(policy, known),
  };
}

/** A text that changes whenever the file changes. */
async function markOf(file: string) {
  try {
    const { ino, size, mtimeNs } = await stat(file, { bigint: true });
    return [ino, size, mtimeNs].join();
  } catch {
    return 'absent';
  }
}
