import { defined } from '../contract/defined';
import { Context } from '@temporalio/activity';
import type {
  CallInput,
  CallOutput,
  CallProgress,
  InDoubt,
  VerifyInput,
  VerifyOutput,
} from '../contract/call';
import { makeSuccess, type ToolResult } from '../contract/result';
import { markLate, type RunOutcome } from '../tools/outcome';
import { earlierStart, pendingAttempt } from './earlier-start';
import {
  abandonedHandler,
  type AskedExecution,
  cachedOutput,
  execute,
  type Execution,
  aboutTurn,
  notRunResult,
  outcomeReporter,
  secretsOf,
  withNote,
  writeOutcome,
} from './execution';
import { isOutcomeOf } from './journal';
import {
  type AttemptGuard,
  type AttemptLostReason,
  describeLostAttempt,
  type Since,
  startHeartbeat,
} from './heartbeat';
import { errorMessage } from '../contract/errors';
import { idempotencyKey } from '../contract/names';
import { makeContext } from '../tools/context';
import { messageOf } from '../tools/format-result';
import type { Tool, Verification } from '../tools/types';
import { unlessAborted } from '../tools/within';
import type { ActivityDeps } from './deps';
import { lackOf, leaveToAnother, waitedMs } from './leave-to-another';
import { notInTime } from './prepare-call';

/**
 * Runs an unsafe call for which `startedBefore` found no start. It is started at most once for each decision. An
 * outcome that cannot be proven is reported, and the call does not run again.
 *
 * @param since The time from which the attempt counts. The checks before it took some time, too.
 */
export async function runUnsafe(execution: Execution, since: Since): Promise<CallOutput> {
  const guard = startHeartbeat({ key: execution.key }, since);
  try {
    const refused = await begin(execution, guard);
    return refused ?? (await finish(execution, guard, await execute(execution, guard)));
  } finally {
    guard.stop();
  }
}

/** The output for an unsafe call that was started earlier. Undefined if no earlier start is known. */
export async function startedBefore(asked: AskedExecution): Promise<CallOutput | undefined> {
  const { deps, input, key } = asked;
  const entry = await withJournal(asked, () => deps.journal.read(key));
  // If the journal cannot be read, only the server can say whether the call was started before.
  if ('output' in entry) return (await startOnRecord(input)) ?? entry.output;
  if (entry.value.state === 'ended') {
    const { result } = entry.value;
    // State that the call kept in memory is then on an unknown worker.
    const used = input.state === undefined ? {} : { holder: null };
    if (isOutcomeOf(result, input)) return { ...cachedOutput(deps, result), ...used };
    return inDoubt({ message: 'this machine had run it with other arguments before' });
  }
  if (entry.value.state === 'started') return inDoubt({ message: 'this machine had started it before' });
  return startOnRecord(input);
}

async function startOnRecord(input: CallInput): Promise<CallOutput | undefined> {
  const earlier = await earlierStart(input);
  return earlier === undefined ? undefined : inDoubt({ message: earlier });
}

/** Writes the intent, then checks once more whether the attempt was given up. Undefined: the handler may start. */
async function begin(execution: Execution, guard: AttemptGuard): Promise<CallOutput | undefined> {
  const first = await withJournal(execution, () => execution.deps.journal.begin(execution.key));
  if ('output' in first) return first.output;
  if (!first.value) return inDoubt({ message: 'another attempt on this machine had started it' });
  const lostReason = guard.lost();
  return lostReason === undefined ? undefined : notStarted(execution, lostReason);
}

async function notStarted(execution: Execution, lostReason: AttemptLostReason): Promise<CallOutput> {
  const message = `Not started: ${describeLostAttempt(lostReason)}. Nothing ran.`;
  return recordOutcome(execution, notRunResult(execution, { code: 'cancelled', message }), lostReason);
}

/**
 * Uses the journal. Without the journal a worker could not notice a second start, so the call is refused and nothing
 * runs.
 */
async function withJournal<T>(
  execution: AskedExecution,
  use: () => Promise<T>,
): Promise<{ value: T } | { output: CallOutput }> {
  try {
    return { value: await use() };
  } catch (error) {
    const message = `The worker could not use its journal (${errorMessage(error)}). Nothing ran.`;
    return { output: cachedOutput(execution.deps, notRunResult(execution, { code: 'transport', message })) };
  }
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
  progress?: CallProgress | undefined;
}

function inDoubt({ message, partial, progress }: Known): { inDoubt: InDoubt } {
  return { inDoubt: { message, ...defined({ partial: partial || undefined, progress }) } };
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
async function isGivenUp({ metadata }: ToolResult): Promise<boolean> {
  if (metadata.execution_time_ms < LONG_MS) return false;
  try {
    return (await pendingAttempt()) === undefined;
  } catch (error) {
    Context.current().log.warn('whether a call was given up could not be read', { error: String(error) });
    return false;
  }
}

/** The most attempts that may be lost with a worker or a disk during the wait for a worker that has the tool. */
const MOST_LOST = 5;

/**
 * Finds out whether a call in doubt took effect, first from this machine's journal and then by the tool's own `verify`.
 * Changes nothing. A worker that lacks the tool leaves the task to another worker until `agentWait` is over. If the
 * outcome stays unknown and the handler still runs here, this activity waits for the handler. The reason is that the
 * server may refuse the signal with the late outcome, because a run takes a limited number of signals.
 *
 * @throws Error if the handler still runs at the end of this attempt. The activity is then retried.
 */
export async function verify(deps: ActivityDeps, input: VerifyInput): Promise<VerifyOutput> {
  const isOver = waitedMs() >= deps.agentWaitMs;
  if (isOver && Context.current().info.attempt > MOST_LOST) return cannotTell('it could not be asked');
  const written = await inJournal(deps, input);
  if (written !== undefined) return written;
  const lack = lackOf(deps, input);
  if (lack !== undefined && !isOver) throw leaveToAnother(deps, lack);
  if (lack !== undefined) return cannotTell(lack);
  const guard = startHeartbeat();
  try {
    const found = await byTool(deps, input, guard);
    const over = found.outcome === 'cannot_tell' ? abandonedHandler(idempotencyKey(input)) : undefined;
    if (over === undefined) return found;
    await untilEnded(over, guard.signal);
    return (await inJournal(deps, input)) ?? found;
  } finally {
    guard.stop();
  }
}

async function inJournal(deps: ActivityDeps, input: VerifyInput): Promise<VerifyOutput | undefined> {
  const entry = await deps.journal.read(idempotencyKey(input));
  if (entry.state !== 'ended') return undefined;
  return isOutcomeOf(entry.result, input)
    ? { outcome: 'happened', result: entry.result }
    : cannotTell('it ran with other arguments before');
}

async function byTool(deps: ActivityDeps, input: VerifyInput, guard: AttemptGuard): Promise<VerifyOutput> {
  const tool = deps.agents.get(input.agent)?.registry.get(input.tool);
  if (tool?.verify === undefined) return cannotTell('the tool has no verify');
  try {
    return toOutput(input, tool, await askTool({ tool, input, guard, deps }), deps);
  } catch (error) {
    return cannotTell(messageOf(error, deps.run.secrets?.hide));
  }
}

/** Waits until the handler has ended or nobody needs its answer any more. */
async function untilEnded(over: Promise<void>, nobodyAsks: AbortSignal): Promise<void> {
  const { startToCloseTimeoutMs } = Context.current().info;
  // Some time is left for the report. If the server ended the attempt, the call could stay in doubt for longer.
  const ended = AbortSignal.timeout(Math.max(1000, startToCloseTimeoutMs - 5000));
  await unlessAborted(over, AbortSignal.any([nobodyAsks, ended]), notInTime);
}

interface Asked {
  tool: Tool;
  input: VerifyInput;
  guard: AttemptGuard;
  deps: ActivityDeps;
}

async function askTool({ tool, input, guard, deps }: Asked): Promise<Verification> {
  const parsed = tool.parse(input.arguments);
  if (!parsed.ok || tool.verify === undefined) return { outcome: 'cannot_tell' };
  const signal = AbortSignal.any([guard.signal, AbortSignal.timeout(tool.timeoutMs)]);
  const { callId } = input;
  const facts = { ...aboutTurn(input), callId, tool: tool.name, idempotencyKey: idempotencyKey(input) };
  const context = makeContext(facts, { ...deps.run, secrets: secretsOf(deps, input) }, { signal });
  return unlessAborted(Promise.resolve(tool.verify(parsed.value, context)), signal, notInTime);
}

function toOutput(input: VerifyInput, tool: Tool, answer: Verification, { run }: ActivityDeps): VerifyOutput {
  if (answer.outcome === 'cannot_tell') return cannotTell('the tool could not tell');
  if (answer.outcome === 'did_not') {
    return {
      outcome: 'did_not',
      message: 'The call was interrupted; the tool found that it did not take effect.',
    };
  }
  const facts = { timestamp: new Date().toISOString(), safety: tool.safety, approved: true };
  const found = run.secrets === undefined ? answer.content : run.secrets.hide(answer.content);
  const content = `The call was interrupted; the tool found that it did take effect.\n\n${found}`;
  const result = makeSuccess({ ...input, server: tool.server }, { content, contentType: 'text' }, facts);
  return { outcome: 'happened', result };
}

function cannotTell(message: string): VerifyOutput {
  return { outcome: 'cannot_tell', message };
}
