import type { CallOutput } from '../contract/call';
import type { ToolResult } from '../contract/result';
import type { RunOutcome } from '../tools/executor';
import { earlierStart } from './earlier-start';
import { execute, known, notRun, withNote, type Execution } from './execution';
import { isGivenUp } from './given-up';
import { outcomeSignal, writeOutcome } from './late-outcome';
import { isOutcomeOf } from './journal';
import { describeLoss, takeLease, type Lease, type Loss } from './lease';

/** An unsafe call: started at most once per decision. Whatever cannot be proven is reported, never run again. */
export async function runUnsafe(execution: Execution): Promise<CallOutput> {
  const stopped = await startedBefore(execution);
  if (stopped !== undefined) return stopped;
  const lease = takeLease({ key: execution.key });
  try {
    const refused = await begin(execution, lease);
    return refused ?? (await finish(execution, lease, await execute(execution, lease)));
  } finally {
    lease.release();
  }
}

/** What is known of an earlier start; undefined where there was none. */
async function startedBefore(execution: Execution): Promise<CallOutput | undefined> {
  const entry = await journalled(execution, () => execution.deps.journal.read(execution.key));
  if ('output' in entry) return entry.output;
  if (entry.value.state === 'ended') {
    const { result } = entry.value;
    if (isOutcomeOf(result, execution.input)) return known(execution.deps, result);
    return inDoubt('this machine had run it with other arguments before');
  }
  if (entry.value.state === 'started') return inDoubt('this machine had started it before');
  const earlier = await earlierStart(execution.input);
  return earlier === undefined ? undefined : inDoubt(earlier);
}

/** Writes the intent, then looks once more whether the call is still ours. Undefined: the handler may start. */
async function begin(execution: Execution, lease: Lease): Promise<CallOutput | undefined> {
  const first = await journalled(execution, () => execution.deps.journal.begin(execution.key));
  if ('output' in first) return first.output;
  if (!first.value) return inDoubt('another attempt on this machine had started it');
  const loss = lease.lost();
  if (loss === undefined) return undefined;
  const message = `Not started: ${describeLoss(loss)}. Nothing ran.`;
  return settle(execution, notRun(execution, { code: 'cancelled', message }), loss);
}

/** Without its journal a worker could not tell a second start: the call is refused, and nothing ran. */
async function journalled<T>(
  execution: Execution,
  use: () => Promise<T>,
): Promise<{ value: T } | { output: CallOutput }> {
  try {
    return { value: await use() };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `The worker could not use its journal (${why}). Nothing ran.`;
    return { output: known(execution.deps, notRun(execution, { code: 'transport', message })) };
  }
}

async function finish(execution: Execution, lease: Lease, outcome: RunOutcome): Promise<CallOutput> {
  const { content, error } = outcome.result;
  const loss = lease.lost();
  if (!outcome.outcomeKnown) return inDoubt(error?.message ?? 'its outcome is unknown', content);
  const settled = await settle(execution, withNote(execution.input, outcome.result), loss);
  return loss === 'reset' || loss === 'paused' ? inDoubt(describeLoss(loss), content) : settled;
}

/** Writes a known outcome down. An attempt that was given up tells the turn by signal: its answer is not taken any more. */
async function settle(execution: Execution, result: ToolResult, loss: Loss | undefined): Promise<CallOutput> {
  await writeOutcome(execution, result);
  if (loss === 'late' || (await isGivenUp(result))) await outcomeSignal(execution)(result);
  return known(execution.deps, result);
}

function inDoubt(message: string, partial?: string): CallOutput {
  return { inDoubt: { message, ...(partial === undefined || partial === '' ? {} : { partial }) } };
}
