import { hostname } from 'node:os';
import { Context } from '@temporalio/activity';
import type { VerifyInput, VerifyOutput } from '../contract/call';
import { idempotencyKey } from '../contract/names';
import { makeSuccess } from '../contract/result';
import { makeContext } from '../tools/context';
import { messageOf } from '../tools/format-result';
import type { Tool, Verification } from '../tools/types';
import { unlessAborted } from '../tools/wait-within';
import type { ActivityDeps } from './deps';
import { abandonedHandler, aboutTurn } from './execute';
import { type AttemptGuard, startHeartbeat } from './heartbeat';
import { isOutcomeOf } from './journal';
import { lackOf, leaveToAnother, waitedMs } from './leave-to-another';
import { notInTime } from './prepare-call';

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
  const unheard = (await deps.journal.read(idempotencyKey(input))).state === 'none';
  const noted = (found: VerifyOutput): VerifyOutput =>
    found.outcome === 'cannot_tell' && unheard
      ? cannotTell(`${found.message}; the journal of ${hostname()} knows no start of it`)
      : found;
  const lack = lackOf(deps, input);
  if (lack !== undefined && !isOver) throw leaveToAnother(deps, lack);
  if (lack !== undefined) return noted(cannotTell(lack));
  const guard = startHeartbeat();
  try {
    const found = await byTool(deps, input, guard);
    const over = found.outcome === 'cannot_tell' ? abandonedHandler(idempotencyKey(input)) : undefined;
    if (over === undefined) return noted(found);
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
async function untilEnded(over: Promise<void>, nobodyAsks: AbortSignal) {
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
  const context = makeContext(facts, deps.run, { signal });
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
