import { z } from 'zod';
import type { CallInput, CallOutput, OutcomeReport, ValidCall, VerifyOutput } from '../../contract/call';
import { WORLDS, type ForkInput } from '../../contract/fork';
import { REFUSAL_CODES, type Accepted, type Refused, type SignalVerdict } from '../../contract/decision';
import type { ToolResult } from '../../contract/result';
import type { PrepareOutput, ThinkInput, ThinkOutput } from '../../contract/think';
import { EFFECTS } from '../../contract/tool';
import type { TranscriptEntry } from '../../contract/transcript';
import type { OpenMemo, TurnInput, TurnResult } from '../../contract/turn';

/**
 * What of a decoded payload the fold relies on. Looser than the contract on purpose: a history of an older or newer
 * release, or one that somebody tampered with, gives fewer events and never an exception. Other fields may be there;
 * what zod makes of the value is dropped, so no schema is a loose one, which would copy them.
 */
const object = z.record(z.string(), z.unknown());
const head = z.object({ callId: z.string(), id: z.string(), tool: z.string() });
const result = z.object({
  callId: z.string(),
  success: z.boolean(),
  content: z.string(),
  metadata: object,
});
const settings = z.object({
  safety: z.string(),
  effect: z.enum(EFFECTS),
  requestExpiresMs: z.number().nullable(),
  noBatch: z.boolean().optional(),
  timeoutMs: z.number().optional(),
});
const ask = head.extend({
  kind: z.literal('ask'),
  arguments: object,
  argsDigest: z.string(),
  settings,
});
const call = z.discriminatedUnion('kind', [
  head.extend({ kind: z.enum(['invalid', 'recorded']), proposed: object, result }),
  head.extend({ kind: z.enum(['run', 'ask']), arguments: object, argsDigest: z.string(), settings }),
  head.extend({ kind: z.literal('remote'), raw: z.string() }),
]);
const thinkOutput = z.object({
  text: z.string(),
  calls: z.array(call),
  model: z.string(),
  finishReason: z.string(),
  schemas: z.record(z.string(), object).optional(),
});
const resultRef = z.object({ callId: z.string(), success: z.boolean(), text: z.string().optional() });
const inDoubt = z.object({ message: z.string(), partial: z.string().optional() });
const openItem = z.object({
  callId: z.string(),
  kind: z.enum(['request', 'in_doubt']),
  tool: z.string(),
  summary: z.string(),
  since: z.string(),
  deadline: z.string().nullable(),
});

const message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('words'), text: z.string() }),
  z.object({ kind: z.literal('reply'), replyId: z.string(), text: z.string(), calls: z.array(head) }),
  head.extend({ kind: z.literal('result'), content: z.string(), success: z.boolean() }),
]);

const schemas = {
  carried: z.object({ transcript: z.array(message), step: z.number().optional() }),
  turnInput: z.object({ agent: z.string(), prompt: z.string() }),
  turnResult: z.object({ status: z.enum(['answered', 'step_limit']), answer: z.string() }),
  gatedCall: ask,
  thinkInput: z.object({ step: z.number(), results: z.array(resultRef) }),
  forkInput: z.object({
    of: z.string(),
    from: z.string(),
    world: z.enum(WORLDS),
    given: thinkOutput.optional(),
  }),
  thinkOutput,
  prepareOutput: z.object({ call, schema: object.optional() }),
  callInput: head.extend({
    callKey: z.string(),
    generation: z.number(),
    arguments: object,
    effect: z.enum(EFFECTS),
  }),
  callOutput: z.union([z.object({ result }), z.object({ inDoubt })]),
  verifyOutput: z.discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('happened'), result }),
    z.object({ outcome: z.enum(['did_not', 'cannot_tell']), message: z.string() }),
  ]),
  outcome: z.object({ callKey: z.string(), generation: z.number(), result }),
  openMemo: z.object({ key: z.string(), count: z.number(), items: z.array(openItem) }),
  verdicts: z.array(
    z.object({
      callId: z.string(),
      verdict: z.enum(['accepted', ...REFUSAL_CODES]),
      decisionId: z.string(),
    }),
  ),
  accepted: z.object({ accepted: z.literal(true), callId: z.string(), approver: z.string() }),
  refused: z.object({ accepted: z.literal(false), code: z.enum(REFUSAL_CODES), message: z.string() }),
};

function fits(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success;
}

/** Guards over decoded payloads, one for each kind of value that history holds. */
export const is = {
  turnInput: (value: unknown): value is TurnInput => fits(schemas.turnInput, value),
  carried: (value: unknown): value is { transcript: TranscriptEntry[]; step?: number } =>
    fits(schemas.carried, value),
  turnResult: (value: unknown): value is TurnResult => fits(schemas.turnResult, value),
  gatedCall: (value: unknown): value is ValidCall => fits(schemas.gatedCall, value),
  forkInput: (value: unknown): value is ForkInput => fits(schemas.forkInput, value),
  thinkInput: (value: unknown): value is ThinkInput => fits(schemas.thinkInput, value),
  thinkOutput: (value: unknown): value is ThinkOutput => fits(schemas.thinkOutput, value),
  prepareOutput: (value: unknown): value is PrepareOutput => fits(schemas.prepareOutput, value),
  callInput: (value: unknown): value is CallInput => fits(schemas.callInput, value),
  callOutput: (value: unknown): value is CallOutput => fits(schemas.callOutput, value),
  verifyOutput: (value: unknown): value is VerifyOutput => fits(schemas.verifyOutput, value),
  outcome: (value: unknown): value is OutcomeReport => fits(schemas.outcome, value),
  openMemo: (value: unknown): value is OpenMemo => fits(schemas.openMemo, value),
  verdicts: (value: unknown): value is SignalVerdict[] => fits(schemas.verdicts, value),
  accepted: (value: unknown): value is Accepted => fits(schemas.accepted, value),
  refused: (value: unknown): value is Refused => fits(schemas.refused, value),
  toolResult: (value: unknown): value is ToolResult => fits(result, value),
} as const;
