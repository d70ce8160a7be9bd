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
import { ASSURANCES } from '../../contract/authority';

const number = z.number();

const string = z.string();

/**
 * The parts of a decoded payload that the fold relies on. These schemas are less strict than the contract: a history of
 * an older or newer release, or a history that somebody tampered with, gives fewer events and never an exception. Other
 * fields may be there. The copies that zod makes are not used, so the schemas need not be loose objects, which would
 * copy those fields, too.
 */
const object = z.record(string, z.unknown());
const texts = z.array(string);
const head = z.object({ callId: string, id: string, tool: string });
const result = z.object({
  callId: string,
  success: z.boolean(),
  content: string,
  metadata: object,
});
const settings = z.object({
  safety: string,
  effect: z.enum(EFFECTS),
  requestExpiresMs: number.nullable(),
  noBatch: z.boolean().optional(),
  grants: z.enum(['none', 'equal']).optional(),
  server: string.optional(),
  timeoutMs: number.optional(),
  gate: z.object({ activity: string.optional() }).optional(),
  child: z.object({ agent: string, outputBytes: number }).optional(),
  retry: z.object({ maximumAttempts: number }),
});
const ask = head.extend({
  kind: z.literal('ask'),
  arguments: object,
  argsDigest: string,
  settings,
});
const question = z.object({ text: string, form: object });
const call = z.discriminatedUnion('kind', [
  head.extend({ kind: z.enum(['invalid', 'recorded']), proposed: object, result }),
  head.extend({
    kind: z.enum(['run', 'ask']),
    arguments: object,
    argsDigest: string,
    settings,
    question: question.optional(),
  }),
  head.extend({ kind: z.literal('remote'), raw: string }),
]);
const lineage = z.array(z.object({ turn: string, callId: string, agent: string }));
const amounts = { tokens: number, money: number, steps: number, time: number };
export const budget = z.object({
  ...z.object(amounts).partial().shape,
  currency: string.optional(),
  then: z.enum(['end', 'ask']).optional(),
});
export const spent = z.object({
  ...{ tokens: number, steps: number, time: number },
  estimated: number.optional(),
  money: z.record(string, number).optional(),
});
const thinkOutput = z.object({
  text: string,
  calls: z.array(call),
  model: string,
  finishReason: string,
  context: string.optional(),
  notes: z.array(z.enum(MODEL_NOTES)).optional(),
  droppedBefore: number.optional(),
  schemas: z.record(string, object).optional(),
  budget: budget.optional(),
});
const resultRef = z.object({ callId: string, success: z.boolean(), text: string.optional() });
const progress = z.object({ fraction: number.optional(), text: string.optional() });
const inDoubt = z.object({
  message: string,
  partial: string.optional(),
  progress: progress.optional(),
  running: z.literal(true).optional(),
});
const voting = z.object({
  votes: z.array(z.object({ voter: string })),
  needs: z.object({ who: texts }),
  escalated: z.literal(true).optional(),
  escalatedTo: texts.optional(),
  among: z.object({ rosters: z.array(texts), notThese: texts.optional() }).optional(),
});
const openItem = z.object({
  callId: string,
  kind: z.enum(['request', 'question', 'in_doubt']),
  tool: string,
  summary: string,
  seenDigest: string.optional(),
  note: string.optional(),
  voting: voting.optional(),
  since: string,
  deadline: string.nullable(),
});

/** The files of a message. */
export const files = z.custom(areFiles);

/** One entry of a conversation. */
export const message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('words'), text: string, files: files.optional() }),
  z.object({
    ...{ kind: z.literal('reply'), replyId: string, text: string },
    ...{ calls: z.array(head), context: string.optional() },
  }),
  head.extend({ kind: z.literal('result'), content: string, success: z.boolean() }),
]);

/** Makes a guard from a schema. */
export function zodGuard<T>(schema: z.ZodType): (value: unknown) => value is T {
  return (value): value is T => schema.safeParse(value).success;
}

/** The person who said something and the reason, as the note for the model quotes them. */
const edit = { approver: string, reason: string.optional() };

const grantMark = {
  ...{ id: string, by: string, until: string, times: number },
  confirmedBy: texts.optional(),
};

/** Guards over decoded payloads, one for each kind of value that history holds. */
export const is = {
  carried: zodGuard<Pick<CarriedTurn, 'transcript' | 'moved'> & { step?: number }>(
    z.object({
      transcript: z.array(message),
      step: number.optional(),
      moved: z.object({ reply: thinkOutput, waits: z.array(z.object({ callId: string })) }).optional(),
    }),
  ),
  origin: zodGuard<TurnOrigin>(
    z.object({
      requester: string.optional(),
      others: z.array(string).optional(),
      metadata: z.record(string, string).optional(),
    }),
  ),
  beat: zodGuard<Beat>(
    z.object({
      progress: progress.optional(),
      partial: string.optional(),
      text: string.optional(),
      step: number.optional(),
    }),
  ),
  lineage: zodGuard<Ancestor[]>(lineage),
  budget: zodGuard<Budget>(budget),
  turnInput: zodGuard<TurnInput>(
    z.object({
      agent: string,
      prompt: string,
      files: files.optional(),
      session: z.object({ sessionId: string, messageId: string }).optional(),
    }),
  ),
  turnResult: zodGuard<TurnResult>(
    z.object({
      status: z.enum(RESULT_STATUSES),
      answer: string,
      why: string.optional(),
      spent: spent.optional(),
    }),
  ),
  gatedCall: zodGuard<ValidCall>(ask),
  thinkInput: zodGuard<ThinkInput>(
    z.object({
      step: number,
      results: z.array(resultRef),
      droppedBefore: number,
      cutTo: number.optional(),
      words: texts.optional(),
      origin: z.object({ others: texts.optional() }).optional(),
      files: z.array(files).optional(),
    }),
  ),
  forkInput: zodGuard<ForkInput>(
    z.object({
      of: string,
      from: string,
      world: z.enum(WORLDS),
      context: string.optional(),
      lineage: lineage.optional(),
      given: thinkOutput.optional(),
    }),
  ),
  thinkOutput: zodGuard<ThinkOutput>(thinkOutput),
  grant: zodGuard<GrantMark>(z.object(grantMark)),
  grantBeat: zodGuard<{ grant: GrantUse }>(
    z.object({
      grant: z.object({
        ...grantMark,
        ...{ use: number, assurance: z.enum(ASSURANCES) },
      }),
    }),
  ),
  prepareOutput: zodGuard<PrepareOutput>(z.object({ call, schema: object.optional() })),
  callInput: zodGuard<CallInput>(
    head.extend({
      callKey: string,
      generation: number,
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
      z.object({ askAgain: string, struck: texts.optional(), secret: string.optional() }),
      z.object({ notHere: string }),
      z.object({ paused: string }),
      z.object({ child: z.enum(CHILD_LOOKS) }),
    ]),
  ),
  verifyOutput: zodGuard<VerifyOutput>(
    z.discriminatedUnion('outcome', [
      z.object({ outcome: z.literal('happened'), result }),
      z.object({ outcome: z.enum(['did_not', 'cannot_tell']), message: string }),
    ]),
  ),
  outcome: zodGuard<OutcomeReport>(z.object({ callKey: string, generation: number, secret: string, result })),
  closedMemo: zodGuard<ClosedMemo>(z.partialRecord(z.enum(CLOSING_CAUSES), z.array(string))),
  openMemo: zodGuard<OpenMemo>(
    z.object({
      ...{ key: string, count: number, items: z.array(openItem) },
      by: z.object({ model: string, notes: z.array(z.enum(MODEL_NOTES)) }).optional(),
    }),
  ),
  verdicts: zodGuard<SignalVerdict[]>(
    z.array(
      z.object({
        callId: string,
        verdict: z.enum(['accepted', ...REFUSAL_CODES]),
        decisionId: string,
        asksAgain: z.literal(true).optional(),
        stillWaits: z.literal(true).optional(),
        behind: number.optional(),
      }),
    ),
  ),
  accepted: zodGuard<Accepted>(
    z.object({
      accepted: z.literal(true),
      callId: string,
      approver: string,
      asksAgain: z.literal(true).optional(),
      needs: z.object({ approvals: number, who: z.array(string) }).optional(),
    }),
  ),
  refused: zodGuard<Refused>(
    z.object({ accepted: z.literal(false), code: z.enum(REFUSAL_CODES), message: string }),
  ),
  toolResult: zodGuard<ToolResult>(result),
} as const;
