import { Context } from '@temporalio/activity';
import type { CallInput, CallOutput, CallProgress, InDoubt, NotHere } from '../contract/call';
import type { ToolResult } from '../contract/result';
import { markLate, type RunOutcome } from '../tools/outcome';
import type { ActivityDeps } from './deps';
import { earlierStart, pendingAttempt } from './earlier-start';
import {
  cachedOutput,
  execute,
  type Execution,
  notRunResult,
  outcomeReporter,
  withNote,
  writeOutcome,
} from './execute';
import { proven } from './given-back';
import { isOutcomeOf } from './journal';
import { notHere } from './leave-to-another';
import {
  type AttemptGuard,
  type AttemptLostReason,
  describeLostAttempt,
  type Since,
  startHeartbeat,
} from './heartbeat';
import { errorMessage } from '../contract/errors';

/**
 * Runs an unsafe call for which `startedBefore` found no start. It is started at most once for each decision. An
 * outcome that cannot be proven is reported, and the call does not run again.
 *
 * @param since The time from which the attempt counts. The checks before it took some time, too.
 */
export async function runUnsafe(execution: Execution, since: Since): Promise<CallOutput> {
  // If this worker dies, the record still names the grant.
  const guard = startHeartbeat({ key: execution.key, grant: execution.startedBy.grant }, since);
  try {
    const refused = await begin(execution, guard);
    return refused ?? (await finish(execution, guard, await execute(execution, guard)));
  } finally {
    guard.stop();
  }
}

/** The output for an unsafe call that was started earlier. Undefined if no earlier start is known. */
export async function startedBefore(
  deps: ActivityDeps,
  { input, key }: Pick<Execution, 'input' | 'key'>,
): Promise<CallOutput | undefined> {
  const entry = await deps.journal.read(key).catch((error: unknown) => unused(input, errorMessage(error)));
  // If the journal cannot be read, only the server can say whether the call was started before.
  if ('notHere' in entry) return (await startOnRecord(deps, input)) ?? entry;
  if (entry.state === 'ended') {
    const { result } = entry;
    // State that the call kept in memory is then on an unknown worker.
    const used = input.state === undefined ? {} : { holder: null };
    if (isOutcomeOf(result, input)) return { ...cachedOutput(deps, result), ...used };
    return inDoubt({ message: 'this machine had run it with other arguments before' });
  }
  if (entry.state === 'started') return inDoubt({ message: 'this machine had started it before' });
  const earlier = await startOnRecord(deps, input);
  if (earlier !== undefined) return earlier;
  const fault = await deps.journal.fault();
  return fault === undefined ? undefined : unused(input, fault);
}

/**
 * The output of a call that this worker leaves to another one. Without its journal it could not notice a second start.
 */
function unused(input: CallInput, why: string): NotHere {
  return notHere(input, `the worker that took this cannot use its journal (${why})`);
}

async function startOnRecord(deps: ActivityDeps, input: CallInput): Promise<CallOutput | undefined> {
  const earlier = await earlierStart(deps, input);
  return earlier === undefined ? undefined : inDoubt({ message: earlier });
}

/** Writes the intent, then checks once more whether the attempt was given up. Undefined: the handler may start. */
async function begin(execution: Execution, guard: AttemptGuard): Promise<CallOutput | undefined> {
  const stop = await writeIntent(execution);
  if (stop !== undefined) return stop;
  const lostReason = guard.lost();
  return lostReason === undefined ? undefined : notStarted(execution, lostReason);
}

/** Writes the intent of a call. Undefined: this attempt is the first on this machine. */
export async function writeIntent({
  deps,
  input,
  key,
}: Pick<Execution, 'deps' | 'input' | 'key'>): Promise<CallOutput | undefined> {
  try {
    if (await deps.journal.begin(key)) return undefined;
    return inDoubt({ message: 'another attempt on this machine had started it' });
  } catch (error) {
    return proven(deps, unused(input, errorMessage(error)));
  }
}

async function notStarted(execution: Execution, lostReason: AttemptLostReason): Promise<CallOutput> {
  const message = `Not started: ${describeLostAttempt(lostReason)}. Nothing ran.`;
  return recordOutcome(execution, notRunResult(execution, { code: 'cancelled', message }), lostReason);
}

async function finish(execution: Execution, guard: AttemptGuard, outcome: RunOutcome): Promise<CallOutput> {
  const { content, error } = outcome.result;
  const lostReason = guard.lost();
  if (outcome.handler === 'unstarted') return notStarted(execution, lostReason ?? 'cancelled');
  if (!outcome.outcomeKnown) {
    const doubt = { message: error?.message ?? 'its outcome is unknown', partial: content };
    const known = { ...doubt, progress: guard.news().progress };
    return outcome.handler === 'running' ? stillRunning(known) : inDoubt(known);
  }
  const output = await recordOutcome(execution, outcome.result, lostReason);
  return lostReason === 'reset' || lostReason === 'paused'
    ? inDoubt({ message: describeLostAttempt(lostReason), partial: content, progress: guard.news().progress })
    : output;
}

/**
 * Writes a known outcome to the journal. If the attempt was given up, the outcome is also signalled to the turn,
 * because the server drops the result of such an attempt.
 */
async function recordOutcome(
  execution: Execution,
  result: ToolResult,
  lostReason: AttemptLostReason | undefined,
): Promise<CallOutput> {
  const noted = (what: ToolResult): ToolResult => withNote(execution.input, what);
  await writeOutcome(execution, noted(result));
  if (lostReason !== 'late' && !(await isGivenUp(result))) return cachedOutput(execution.deps, noted(result));
  const lateResult = result.success ? markLate(result, 'it was given up') : result;
  await outcomeReporter(execution)(noted(lateResult));
  return cachedOutput(execution.deps, noted(lateResult));
}

interface Known {
  message: string;
  partial?: string;
  progress?: CallProgress;
}

function inDoubt({ message, partial, progress }: Known): { inDoubt: InDoubt } {
  return { inDoubt: { message, partial: partial || undefined, progress } };
}

/** The output of a call that was asked to stop and did not stop. Its effect may still come. */
function stillRunning({ message, ...known }: Known): CallOutput {
  const doubt = inDoubt({ ...known, message: `${message}; it may still be running` });
  return { inDoubt: { ...doubt.inDoubt, running: true } };
}

/** For calls that are quicker than this, the server is not asked: it hardly had time to give them up. */
const LONG_MS = 1000;

/**
 * Whether the server no longer waits for this attempt. The worker's own clocks notice that later, and the server
 * silently drops the result of an attempt that it gave up. False if the server cannot be asked. The result is then
 * sent, which does no harm.
 */
export async function isGivenUp({ metadata }: ToolResult): Promise<boolean> {
  if (metadata.execution_time_ms < LONG_MS) return false;
  try {
    return (await pendingAttempt()) === undefined;
  } catch (error) {
    Context.current().log.warn('whether a call was given up could not be read', { error: String(error) });
    return false;
  }
}
