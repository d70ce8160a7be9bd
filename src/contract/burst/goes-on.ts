import { isValidCall, type PreparedCall, type ValidCall } from '../call';
import { KIB, LIMITS, TIMES } from '../limits';
import { addSpent, crossingOf, type Spent } from '../spending/budget';
import { isRepeated } from '../repeats';
import type { Repeated } from '../spending/carried';
import type { GateMode, ThinkOutput } from '../think';
import type { Order, RetryOptions } from '../tool';
import type { Limited } from './burst';

/**
 * A burst whose result has more bytes than this takes no further step, so that the last reply still fits the payload.
 */
const BURST_BYTES = 256 * KIB;

/**
 * Whether the calls of a reply run in the burst: nothing waits, nothing has an effect, and nothing was forbidden. Any
 * other reply ends the burst, so that the reply is on record before its calls do anything.
 */
export function runsHere(reply: Pick<ThinkOutput, 'calls' | 'repeats'>, repeated: Repeated): boolean {
  const { calls, repeats } = reply;
  return calls.length > 0 && calls.every(mayRunInBurst) && !isRepeated({ repeated, repeats }, calls);
}

/** Whether a burst may run a call, or answers the call by itself. */
export function mayRunInBurst(call: PreparedCall): boolean {
  if (call.kind === 'invalid') return call.result.error?.code !== 'refused';
  return call.kind === 'run' && isPlain(call) && longestMs(call) <= TIMES.burstCall;
}

function isPlain({ settings, grant }: ValidCall) {
  const { effect, child, state, askMs, taskQueue, gate } = settings;
  const isAlone = [grant, child, state, askMs, taskQueue, gate].every((one) => one === undefined);
  return effect === 'pure' && isAlone;
}

/** The most calls of a reply that run in a burst at the same time. */
export function atOnceIn(order: Order): number {
  return order === 'strict' ? 1 : LIMITS.pureAtOnce;
}

/** Whether the calls of a reply may take all their attempts within this time. */
export function fitInto(ms: number, { calls, order }: Pick<ThinkOutput, 'calls' | 'order'>): boolean {
  const each = calls.filter(isValidCall).map(longestMs);
  return Math.max(0, ...each) * Math.ceil(each.length / atOnceIn(order)) <= ms;
}

/** The longest time that a call may take with all its attempts and the waits between them. */
function longestMs({ settings: { timeoutMs, retry } }: ValidCall) {
  let longest = 0;
  for (let attempt = 1; attempt <= retry.maximumAttempts; attempt++) {
    longest += timeoutMs + (attempt === 1 ? 0 : retryWaitMs(retry, attempt));
    if (longest > TIMES.burstCall) break;
  }
  return longest;
}

/** The time that the server would wait before an attempt. The first attempt has the number 1. */
export function retryWaitMs(
  { initialIntervalMs, backoffCoefficient, maximumIntervalMs }: RetryOptions,
  attempt: number,
): number {
  const most = maximumIntervalMs ?? 100 * initialIntervalMs;
  return Math.min(most, initialIntervalMs * backoffCoefficient ** (attempt - 2));
}

/** The progress of a burst. */
interface BurstSoFar extends GateMode {
  /** Milliseconds since the burst began. */
  ms: number;
  /** Bytes of the burst's result so far. */
  bytes: number;
  /** Bytes of the transcript. */
  size: number;
  /** The last step that is finished. */
  step: number;
  maxSteps: number;
  limits: readonly Limited[];
  /** What the burst itself has spent. */
  spent: Spent;
}

/** Why a burst ends. `open`: the turn goes on with the last reply. */
type BurstEnd = 'open' | 'steps' | 'time' | 'bytes' | 'transcript' | 'budget';

/** Why a burst ends after a finished step. Undefined if the burst takes another step. */
export function whyCommit(soFar: BurstSoFar): Exclude<BurstEnd, 'open'> | undefined {
  const { ms, bytes, size, step, maxSteps, commitMs, limits, spent } = soFar;
  if (step >= maxSteps) return 'steps';
  if (limits.some((one) => crossingOf(one.budget, addSpent(one.spent, spent)) !== undefined)) return 'budget';
  // Older outputs have to be dropped, and the turn does that.
  if (size > LIMITS.transcriptBytes) return 'transcript';
  if (bytes >= BURST_BYTES) return 'bytes';
  return ms >= commitMs ? 'time' : undefined;
}
