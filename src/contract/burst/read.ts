import { isJsonObject, isObject } from '../json';
import { readCallOutput } from '../call-payloads';
import { readThinkOutput } from '../payloads';
import type { BurstCall, BurstOutput, BurstStep } from './burst';
import { mayRunInBurst } from './goes-on';

/**
 * What a burst returned. Undefined if it cannot be read. An operator may complete the activity with anything, so an
 * output that reports a call with an effect in the burst is refused.
 */
export function readBurstOutput(value: unknown): BurstOutput | undefined {
  if (!isObject(value) || !isTime(value['ms']) || !Array.isArray(value['steps'])) return undefined;
  const steps = value['steps'].map(readStep);
  const [last, ...before] = [...steps].reverse();
  if (last === undefined || steps.includes(undefined)) return undefined;
  if (before.some((step) => step?.calls === undefined)) return undefined;
  const failed = readFailed(value['failed']);
  if (failed === null) return undefined;
  const read = { steps: steps.filter((step) => step !== undefined), ms: value['ms'] };
  return failed === undefined ? read : { ...read, failed };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= MOST_MS;
}

/** A day, which is longer than any burst takes. */
const MOST_MS = 24 * 3600 * 1000;

/** The `failed` of a burst. Null if it cannot be read. */
function readFailed(value: unknown): BurstOutput['failed'] | null {
  if (value === undefined) return undefined;
  if (!isObject(value) || typeof value['message'] !== 'string') return null;
  const { message, waitMs, tried, isLast } = value;
  if (waitMs !== undefined && !isTime(waitMs)) return null;
  // Only an activity reads the content of `tried`, and the activity does not trust it.
  const left = isJsonObject(tried) ? tried : undefined;
  const read = { message, waitMs, tried: left };
  return isLast === true ? { ...read, isLast } : read;
}

function readStep(value: unknown): BurstStep | undefined {
  if (!isObject(value)) return undefined;
  const { asked, replied, calls } = value;
  const reply = readThinkOutput(value['reply']);
  if (reply === undefined || !isTime(asked) || !isTime(replied)) return undefined;
  const head = { reply, asked, replied };
  if (calls === undefined) return head;
  if (!Array.isArray(calls) || reply.calls.length === 0 || !reply.calls.every(mayRunInBurst))
    return undefined;
  const ran = reply.calls.filter(({ kind }) => kind === 'run');
  const read = calls.map((call, index) => readCall(call, ran[index]?.callId ?? ''));
  if (read.length !== ran.length || read.includes(undefined)) return undefined;
  return { ...head, calls: read.filter((call) => call !== undefined) };
}

function readCall(value: unknown, callId: string): BurstCall | undefined {
  if (!isObject(value) || value['callId'] !== callId) return undefined;
  const { started, ended, attempts } = value;
  const output = readCallOutput(value['output'], { callId, secret: undefined });
  if (!isTime(started) || !isTime(ended) || output === undefined || !('result' in output)) return undefined;
  if (typeof attempts !== 'number' || !Number.isSafeInteger(attempts) || attempts < 1) return undefined;
  return { callId, started, ended, attempts, output };
}
