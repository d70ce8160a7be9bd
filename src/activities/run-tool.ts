import type { CallInput, CallOutput } from '../contract/call';
import { MAY_HAVE_RUN } from '../contract/call-texts';
import { defined } from '../contract/defined';
import type { ToolResult } from '../contract/result';
import type { RunOutcome } from '../tools/outcome';
import { lookForChild } from './check-child';
import type { ActivityDeps } from './deps';
import { cachedOutput, execute, type Execution, notRunResult, ranBefore, withNote } from './execute';
import { earlierBeat, type Since, startHeartbeat, whileBeating } from './heartbeat';
import { heldState } from './held-state';
import { lackOf, retryFailure } from './leave-to-another';
import { runUnsafe } from './run-unsafe';
import { whatStops } from './start-checks';
import { allowedOf, startingCall, stoppedOutput } from './start-checks/starting-call';

/** Runs one call. A return value is final. It throws only if the call is to run again, which an unsafe call never is. */
export async function runTool(deps: ActivityDeps, input: CallInput): Promise<CallOutput> {
  const call = startingCall(deps, input);
  const { value: stop, since } = await whileBeating(() => whatStops(call, deps));
  if (stop !== undefined || call.registered === undefined)
    return stoppedOutput(call, deps, stop ?? { lack: call.lack });
  const { key, startedBy, registered } = call;
  const { tool } = registered;
  const state = heldState(deps, tool, { input: call.input, idempotencyKey: key });
  const { value } = allowedOf(call);
  const execution: Execution = { deps, tool, input: call.input, value, key, state, startedBy };
  if (tool.child !== undefined) return withStart(execution, await lookForChild(execution, tool.child));
  const run = tool.effect === 'unsafe' ? runUnsafe : runRepeatable;
  return withStart(execution, await run(execution, since));
}

/** Adds to an output by what its call started and, for the turn, who holds the state that its call used. */
export function withStart(
  { startedBy, state }: Pick<Execution, 'startedBy' | 'state'>,
  output: CallOutput,
): CallOutput {
  const isOutcome = 'result' in output || 'inDoubt' in output;
  if (!isOutcome && !('child' in output)) return output;
  const held = isOutcome && state?.isUsed === true ? { holder: state.holder } : {};
  return { ...output, ...held, ...defined(startedBy) };
}

/**
 * Gives back a call whose tool is missing on this task queue. The agent may still have that tool. An unsafe call that
 * had started is in doubt.
 */
export async function handBackUnregistered(deps: ActivityDeps, input: CallInput): Promise<CallOutput> {
  const { agent, tool } = input;
  const lack = lackOf(deps, { agent }) ?? `no worker with the tool ${tool} of agent "${agent}" on this queue`;
  const call = { ...startingCall(deps, input), registered: undefined, lack };
  const { value: stop = { lack } } = await whileBeating(() => whatStops(call, deps));
  return stoppedOutput(call, deps, stop);
}

/**
 * Runs a pure or idempotent call. A lost attempt may run again with the same key. A decision counts for only one run of
 * the turn.
 */
async function runRepeatable(execution: Execution, since: Since): Promise<CallOutput> {
  const guard = startHeartbeat(earlierBeat(), since);
  try {
    const outcome = await execute(execution, guard);
    const lostReason = guard.lost();
    const result = withNote(execution.input, knownResult(execution, outcome));
    const ended = result.success || lostReason === undefined || lostReason === 'cancelled';
    if (ended && !outcome.retryable) return cachedOutput(execution.deps, result);
    await guard.flush();
    throw retryFailure(result, execution.startedBy.roster);
  } finally {
    guard.stop();
  }
}

/** The result of an attempt. If this attempt did not start, the result says that an earlier attempt may have run. */
function knownResult(execution: Execution, { handler, result }: RunOutcome): ToolResult {
  const { input } = execution;
  if (handler !== 'unstarted' || !ranBefore(input)) return result;
  return notRunResult(execution, {
    code: 'cancelled',
    message: `This attempt did not start. ${MAY_HAVE_RUN}`,
  });
}
