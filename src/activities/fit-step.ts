import type { PreparedCall } from '../contract/call';
import { LIMITS } from '../contract/limits';
import { utf8Bytes } from '../contract/transcript';
import { invalidCall, type AskedCall } from './prepare-call';

/** Bytes that a step's calls have used of its limits. */
interface Used {
  arguments: number;
  previews: number;
  all: number;
}

/**
 * Keeps a step within its limits: calls beyond them become validation errors, in the model's order.
 *
 * @param textBytes what the reply's own text takes of the result.
 */
export function fitStep(calls: readonly PreparedCall[], textBytes: number): PreparedCall[] {
  const used: Used = { arguments: 0, previews: 0, all: textBytes };
  return calls.map((call, index) => fitCall(call, index, used));
}

function fitCall(call: PreparedCall, index: number, used: Used): PreparedCall {
  const excess = index >= LIMITS.callsPerStep ? TOO_MANY : excessOf(call, used);
  const fitted = excess === undefined ? call : tooMuch(call, excess);
  used.all += bytesOf(fitted);
  return fitted;
}

const TOO_MANY = `a step has at most ${LIMITS.callsPerStep} calls; ask for the rest in the next step`;

function excessOf(call: PreparedCall, used: Used): string | undefined {
  const args = argumentBytes(call);
  const preview = call.kind === 'ask' ? bytesOf(call.preview ?? null) : 0;
  if (args > LIMITS.argumentsBytes) return `the arguments are over ${LIMITS.argumentsBytes} bytes`;
  if (used.arguments + args > LIMITS.argumentsBytesPerStep)
    return 'the arguments of this step are too large together';
  if (used.previews + preview > LIMITS.previewBytesPerStep)
    return 'this step is too large to review; split it';
  if (used.all + bytesOf(call) > LIMITS.thinkResultBytes) return 'this step is too large; split it';
  used.arguments += args;
  used.previews += preview;
  return undefined;
}

function argumentBytes(call: PreparedCall): number {
  if (call.kind === 'remote') return utf8Bytes(call.raw);
  return bytesOf(call.kind === 'invalid' || call.kind === 'recorded' ? call.proposed : call.arguments);
}

function bytesOf(value: unknown): number {
  return utf8Bytes(JSON.stringify(value));
}

function tooMuch({ callId, id, tool }: PreparedCall, why: string): PreparedCall {
  const asked: AskedCall = { callId, id, tool: tool.slice(0, 100), raw: '' };
  return invalidCall(asked, { code: 'validation', message: `Not run: ${why}.` }, {});
}
