import {
  CALL_OUTPUT,
  type CallOutput,
  prepareOutput,
  preparedCall,
  type ValidCall,
  VERIFY_OUTPUT,
  type VerifyOutput,
} from './call';
import { ACCEPTED, REFUSED_VERDICT } from './decision';
import { LIMITS } from './limits';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from './names';
import { RESULT, type ToolResult } from './result';
import { guard } from './schema/message';
import { either, list, object, pair, text } from './schema/shape';
import { utf8Bytes } from './text/bytes';
import { ANY_NAME } from './tool';

// The outputs of activities are read strictly. An operator may complete any activity with any value
// (`temporal activity complete`), and a value that later code cannot handle would stop a workflow for good.

// The name is an activity type. A name with a dot is one of our activities, which a reply must not call.
export const OWN_TOOL = text({ pattern: TOOL_NAME.source, not: { enum: [...RESERVED_TOOL_NAMES] } });

const isAnyCall = guard(preparedCall(ANY_NAME));
export const isPrepareOutput = guard(prepareOutput(OWN_TOOL));
export const isCallOutput = guard(CALL_OUTPUT);
const isVerifyOutput = guard(VERIFY_OUTPUT);
export const isResult = guard(RESULT);

/** Whether a value is a call that a user's workflow gates, or a question of a running call. */
export function isRequestedCall(value: unknown): value is ValidCall & { kind: 'ask' } {
  return isAnyCall(value) && value.kind === 'ask';
}

/**
 * Reads the output of a call. Undefined if it cannot be read, or belongs to another call. Only the worker that took
 * a call knows its secret, so nobody else can say that the call did not start.
 */
export function readCallOutput(
  value: unknown,
  { callId, secret }: { callId: string; secret: string | undefined },
): CallOutput | undefined {
  if (!isCallOutput(value)) return undefined;
  if (('notHere' in value || 'paused' in value) && value.secret !== secret) return undefined;
  return 'result' in value && value.result.callId !== callId ? undefined : value;
}

/** Reads whether a call in doubt took effect. Undefined if it cannot be read, or belongs to another call. */
export function readVerifyOutput(value: unknown, callId: string): VerifyOutput | undefined {
  if (!isVerifyOutput(value)) return undefined;
  return value.outcome === 'happened' && value.result.callId !== callId ? undefined : value;
}

/**
 * Reads a result that anybody may have sent, cut to the most that a tool may return. Undefined if it cannot be read.
 */
export function readResult(value: unknown, callId: string): ToolResult | undefined {
  if (!isResult(value) || value.callId !== callId) return undefined;
  if (utf8Bytes(value.content) <= LIMITS.outputBytesMost) return value;
  // No character has more than four bytes.
  const kept = value.content.slice(0, LIMITS.outputBytesMost / 4);
  return { ...value, content: `${kept}\n[cut: it was over ${LIMITS.outputBytesMost} bytes]` };
}

const VERDICT = either(ACCEPTED, REFUSED_VERDICT);
/** The decisions that a run passes to the next one. */
export const SPENT_IDS = list(pair(text(), object({ digest: text(), verdict: VERDICT })));
