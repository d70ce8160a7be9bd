import { setTimeout as delay } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import { type BurstCall, burstCallInput } from '../../contract/burst/burst';
import { atOnceIn, retryWaitMs } from '../../contract/burst/goes-on';
import { type CallOutput, isValidCall, type PreparedCall, type ValidCall } from '../../contract/call';
import { TIMES } from '../../contract/limits';
import { activityIds, FAILURES } from '../../contract/names';
import { readResult } from '../../contract/call-payloads';
import type { Order } from '../../contract/tool';
import type { ActivityDeps } from '../deps';
import { cachedOutput } from '../execute';
import { runTool } from '../run-tool';
import { asAttempt } from './inner-attempt';

/** Where calls of a burst run. */
interface CallsOf {
  deps: ActivityDeps;
  of: Parameters<typeof burstCallInput>[1];
  order: Order;
  signal: AbortSignal;
  /** Milliseconds since the burst began. */
  now(): number;
}

/**
 * Runs the pure calls of a reply, as many at once as its order allows. Undefined: one call ended without a result, for
 * example because this worker lacks its tool. The turn then has to run all calls.
 */
export async function runCalls(
  calls: readonly PreparedCall[],
  parts: CallsOf,
): Promise<BurstCall[] | undefined> {
  const quiet = calls.filter(isValidCall);
  const ended: (BurstCall | undefined)[] = [];
  const rest = quiet.entries();
  const work = async () => {
    for (const [index, call] of rest) ended[index] = await runCall(call, parts);
  };
  const atOnce = atOnceIn(parts.order);
  await Promise.all(Array.from({ length: Math.min(atOnce, quiet.length) }, work));
  const all = ended.filter((one) => one !== undefined);
  return all.length === quiet.length ? all : undefined;
}

/** Runs a call. Makes the same attempts, and waits between them, as the server would. */
async function runCall(call: ValidCall, parts: CallsOf): Promise<BurstCall | undefined> {
  const { retry } = call.settings;
  const { callId } = call;
  const started = parts.now();
  for (let attempts = 1; !parts.signal.aborted; attempts++) {
    const { output, mayRunAgain } = await attempt(call, attempts, parts);
    if (mayRunAgain && attempts < retry.maximumAttempts) {
      const waitMs = retryWaitMs(retry, attempts + 1);
      await delay(waitMs, undefined, { signal: parts.signal }).catch(() => undefined);
      continue;
    }
    return output && { callId, started, ended: parts.now(), attempts, output };
  }
  return undefined;
}

interface Attempted {
  /** Absent: the attempt led to no result here. */
  output?: BurstCall['output'];
  mayRunAgain: boolean;
}

async function attempt(call: ValidCall, attempts: number, { deps, of, signal }: CallsOf): Promise<Attempted> {
  const { callId, tool, settings } = call;
  const own = {
    activityId: activityIds.call(callId, 0),
    activityType: tool,
    attempt: attempts,
    startToCloseTimeoutMs: settings.timeoutMs + TIMES.closeMargin,
  };
  try {
    const input = burstCallInput(call, of);
    const output: CallOutput = await asAttempt(own, { signal }, () => runTool(deps, input));
    return { output: 'result' in output ? output : undefined, mayRunAgain: false };
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.type !== FAILURES.retry)
      return { mayRunAgain: false };
    const result = readResult(error.details?.[0], callId);
    if (result === undefined) return { mayRunAgain: false };
    const last = cachedOutput(deps, result);
    return { output: 'result' in last ? last : undefined, mayRunAgain: true };
  }
}
