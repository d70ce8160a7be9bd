import { z } from 'zod';
import {
  type Beat,
  type CallInput,
  type CallOutput,
  type GrantMark,
  type GrantUse,
  type OutcomeReport,
  type ValidCall,
  type VerifyOutput,
  type Ancestor,
  CHILD_LOOKS,
} from '../../contract/call';
import { ASSURANCES } from '../../contract/authority/rule';
import { WORLDS, type ForkInput } from '../../contract/fork';
import { REFUSAL_CODES, type Accepted, type Refused, type SignalVerdict } from '../../contract/decision';
import { areFiles } from '../../contract/session/files';
import type { ToolResult } from '../../contract/result';
import { MODEL_NOTES, type PrepareOutput, type ThinkInput, type ThinkOutput } from '../../contract/think';
import { EFFECTS } from '../../contract/tool';
import type { Budget } from '../../contract/spending/budget';
import { CLOSING_CAUSES } from '../../contract/call-texts';
import type { CarriedTurn, ClosedMemo, OpenMemo, TurnInput, TurnResult } from '../../contract/turn';
import type { TurnOrigin } from '../../contract/call';
import { RESULT_STATUSES } from '../../contract/turn-states';

/**
 * The parts of a decoded payload that the fold relies on. These schemas are less strict than the contract: a history of
 * an older or newer release, or a history that somebody tampered with, gives fewer events and never an exception. Other
 * fields may be there. The copies that zod makes are not used, so the schemas need not be loose objects, which would
 * copy those fields, too.
 */
const object = z.record(z.string(), z.unknown());
const texts = z.array(z.string());
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
  grants: z.enum(['none', 'equal']).optional(),
  server: z.string().optional(),
  timeoutMs: z.number().optional(),
  gate: z.object({ activity: z.string().optional() }).optional(),
  child: z.object({ agent: z.string(), outputBytes: z.number() }).optional(),
  retry: z.object({ maximumAttempts: z.number() }),
});
const ask = head.extend({
  kind: z.literal('ask'),
  arguments: object,
  argsDigest: z.string(),
  settings,
});
const question = z.object({ text: z.string(), form: object });
const call = z.discriminatedUnion('kind', [
  head.extend({ kind: z.enum(['invalid', 'recorded']), proposed: object, result }),
  head.extend({
    kind: z.enum(['run', 'ask']),
    arguments: object,
    argsDigest: z.string(),
    settings,
    question: question.optional(),
  }),
  head.extend({ kind: z.literal('remote'), raw: z.string() }),
]);
const lineage = z.array(z.object({ turn: z.string(), callId: z.string(), agent: z.string() }));
const amounts = { tokens: z.number(), money: z.number(), steps: z.number(), time: z.number() };
export const budget = z.object({
  ...z.object(amounts).partial().shape,
  currency: z.string().optional(),
  then: z.enum(['end', 'ask']).optional(),
});
export const spent = z.object({
  tokens: z.number(),
  steps: z.number(),
  time: z.number(),
  estimated: z.number().optional(),
  money: z.record(z.string(), z.number()).optional(),
});
const thinkOutput = z.object({
  text: z.string(),
  calls: z.array(call),
  model: z.string(),
  finishReason: z.string(),
  context: z.string().optional(),
  notes: z.array(z.enum(MODEL_NOTES)).optional(),
  schemas: z.record(z.string(), object).optional(),
  budget: budget.optional(),
});
const resultRef = z.object({ callId: z.string(), success: z.boolean(), text: z.string().optional() });
const progress = z.object({ fraction: z.number().optional(), text: z.string().optional() });
const inDoubt = z.object({
  message: z.string(),
  partial: z.string().optional(),
  progress: progress.optional(),
  running: z.literal(true).optional(),
});
const voting = z.object({
  votes: z.array(z.object({ voter: z.string() })),
  needs: z.object({ who: texts }),
  escalated: z.literal(true).optional(),
  escalatedTo: texts.optional(),
  among: z.object({ rosters: z.array(texts), notThese: texts.optional() }).optional(),
});
const openItem = z.object({
  callId: z.string(),
  kind: z.enum(['request', 'question', 'in_doubt']),
  tool: z.string(),
  summary: z.string(),
  seenDigest: z.string().optional(),
  note: z.string().optional(),
  voting: voting.optional(),
  since: z.string(),
  deadline: z.string().nullable(),
});

/** The files of a message. */
export const files = z.custom(areFiles);

/** One entry of a conversation. */
export const message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('words'), text: z.string(), files: files.optional() }),
  z.object({
    kind: z.literal('reply'),
    replyId: z.string(),
    text: z.string(),
    calls: z.array(head),
    context: z.string().optional(),
  }),
  head.extend({ kind: z.literal('result'), content: z.string(), success: z.boolean() }),
]);

/** Makes a guard from a schema. */
export function zodGuard<T>(schema: z.ZodType): (value: unknown) => value is T {
  return (value): value is T => schema.safeParse(value).success;
}

/** The person who said something and the reason, as the note for the model quotes them. */
const edit = { approver: z.string(), reason: z.string().optional() };

/** Guards over decoded payloads, one for each kind of value that history holds. */
export const is = {
  carried: zodGuard<Pick<CarriedTurn, 'transcript' | 'moved'> & { step?: number }>(
    z.object({
      transcript: z.array(message),
      step: z.number().optional(),
      moved: z.object({ reply: thinkOutput, waits: z.array(z.object({ callId: z.string() })) }).optional(),
    }),
  ),
  origin: zodGuard<TurnOrigin>(
    z.object({
      requester: z.string().optional(),
      others: z.array(z.string()).optional(),
      metadata: z.record(z.string(), z.string()).optional(),
    }),
  ),
  beat: zodGuard<Beat>(
    z.object({
      progress: progress.optional(),
      partial: z.string().optional(),
      text: z.string().optional(),
      step: z.number().optional(),
    }),
  ),
  lineage: zodGuard<Ancestor[]>(lineage),
  budget: zodGuard<Budget>(budget),
  turnInput: zodGuard<TurnInput>(
    z.object({
      agent: z.string(),
      prompt: z.string(),
      files: files.optional(),
      session: z.object({ sessionId: z.string(), messageId: z.string() }).optional(),
    }),
  ),
  turnResult: zodGuard<TurnResult>(
    z.object({
      status: z.enum(RESULT_STATUSES),
      answer: z.string(),
      why: z.string().optional(),
      spent: spent.optional(),
    }),
  ),
  gatedCall: zodGuard<ValidCall>(ask),
  thinkInput: zodGuard<ThinkInput>(
    z.object({
      step: z.number(),
      results: z.array(resultRef),
      droppedBefore: z.number(),
      cutTo: z.number().optional(),
      words: texts.optional(),
      origin: z.object({ others: texts.optional() }).optional(),
      files: z.array(files).optional(),
    }),
  ),
  forkInput: zodGuard<ForkInput>(
    z.object({
      of: z.string(),
      from: z.string(),
      world: z.enum(WORLDS),
      context: z.string().optional(),
      lineage: lineage.optional(),
      given: thinkOutput.optional(),
    }),
  ),
  thinkOutput: zodGuard<ThinkOutput>(thinkOutput),
  grant: zodGuard<GrantMark>(
    z.object({
      id: z.string(),
      by: z.string(),
      until: z.string(),
      times: z.number(),
      confirmedBy: texts.optional(),
    }),
  ),
  grantBeat: zodGuard<{ grant: GrantUse }>(
    z.object({
      grant: z.object({
        id: z.string(),
        by: z.string(),
        until: z.string(),
        times: z.number(),
        confirmedBy: texts.optional(),
        use: z.number(),
        assurance: z.enum(ASSURANCES),
      }),
    }),
  ),
  prepareOutput: zodGuard<PrepareOutput>(z.object({ call, schema: object.optional() })),
  callInput: zodGuard<CallInput>(
    head.extend({
      callKey: z.string(),
      generation: z.number(),
      arguments: object,
      effect: z.enum(EFFECTS),
      decision: z.object({ ...edit, edit: z.object(edit).optional() }).optional(),
      proposed: object.optional(),
    }),
  ),
  callOutput: zodGuard<CallOutput>(
    z.union([
      z.object({ result }),
      z.object({ inDoubt }),
      z.object({ askAgain: z.string(), struck: texts.optional(), secret: z.string().optional() }),
      z.object({ notHere: z.string() }),
      z.object({ paused: z.string() }),
      z.object({ child: z.enum(CHILD_LOOKS) }),
    ]),
  ),
  verifyOutput: zodGuard<VerifyOutput>(
    z.discriminatedUnion('outcome', [
      z.object({ outcome: z.literal('happened'), result }),
      z.object({ outcome: z.enum(['did_not', 'cannot_tell']), message: z.string() }),
    ]),
  ),
  outcome: zodGuard<OutcomeReport>(
    z.object({ callKey: z.string(), generation: z.number(), secret: z.string(), result }),
  ),
  closedMemo: zodGuard<ClosedMemo>(z.partialRecord(z.enum(CLOSING_CAUSES), z.array(z.string()))),
  openMemo: zodGuard<OpenMemo>(z.object({ key: z.string(), count: z.number(), items: z.array(openItem) })),
  verdicts: zodGuard<SignalVerdict[]>(
    z.array(
      z.object({
        callId: z.string(),
        verdict: z.enum(['accepted', ...REFUSAL_CODES]),
        decisionId: z.string(),
        asksAgain: z.literal(true).optional(),
        stillWaits: z.literal(true).optional(),
        behind: z.number().optional(),
      }),
    ),
  ),
  accepted: zodGuard<Accepted>(
    z.object({
      accepted: z.literal(true),
      callId: z.string(),
      approver: z.string(),
      asksAgain: z.literal(true).optional(),
      needs: z.object({ approvals: z.number(), who: z.array(z.string()) }).optional(),
    }),
  ),
  refused: zodGuard<Refused>(
    z.object({ accepted: z.literal(false), code: z.enum(REFUSAL_CODES), message: z.string() }),
  ),
  toolResult: zodGuard<ToolResult>(result),
} as const;
