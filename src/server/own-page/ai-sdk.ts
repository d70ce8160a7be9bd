import { z } from 'zod';
import type { SessionTurn } from '../../history/session/events';
import { id } from '../request-body';
import type { ThreadRequest } from './look';
import {
  FAILED_ENDS,
  itemOf,
  type PageReader,
  outcomeText,
  type ThreadCall,
  type ShownStep,
  stepsOf,
} from './thread';

const text = z.string().catch('');
const part = z.object({
  ...{ type: text, text, state: text, toolCallId: text },
  approval: z
    .object({ id: text, approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});

/** What a client sends. Only new words and answers to approval requests count: the rest tells what the client has already. */
export const UI_INPUT = z.object({
  id,
  messages: z.array(z.object({ id: text, role: text, parts: z.array(part).catch([]) })),
  trigger: z.literal('submit-message', 'a turn is not made again: send new words').optional(),
  messageId: z.string().optional(),
});

/**
 * Reads a request of the AI SDK, and writes its UI message stream. A yes carries the digest of what was shown in its id,
 * so it is bound to that.
 */
export function aiSdk({ id: thread, messages, messageId }: z.infer<typeof UI_INPUT>): ThreadRequest {
  const words = messages.slice(messages.findLastIndex(({ role }) => role !== 'user') + 1).map((one) => ({
    messageId: one.id,
    text: one.parts.flatMap((given) => (given.type === 'text' ? [given.text] : [])).join('\n'),
  }));
  const parts = messages.flatMap((one) => one.parts);
  const last = messages.find((one) => one.id === messageId) ?? messages.at(-1);
  const continued = last?.role === 'assistant' ? last : undefined;
  return {
    ...{ thread, words, channel: 'ai-sdk', runId: continued?.id ?? '' },
    answers: parts.flatMap(({ state, approval }) => {
      const { id: approvalId = '', approved, reason } = approval ?? {};
      const [call = '', seenDigest] = approvalId.split('#');
      if (state !== 'approval-responded' || approved === undefined) return [];
      return [{ id: call, said: { decision: approved ? 'approved' : 'denied', seenDigest, reason } }];
    }),
    writer: (who) =>
      uiWriter(who, {
        message: continued?.id,
        words: words.map((one) => one.messageId),
        has: new Set(parts.flatMap((one) => stepOf(one.toolCallId))),
        step: continued && lastStepOf(continued),
      }),
  };
}

/** The step of a call, by their ids. */
function stepOf(call: string): string[] {
  return /^.+\/\d+(?=\.)/.exec(call)?.slice(0, 1) ?? [];
}

/**
 * The last step of a message: the step of its first call, or the one after the step before. The calls of child turns
 * stand behind the call that waits for them. A message begins with the first step of the turn that it is named after.
 */
function lastStepOf({ id: turn, parts }: z.infer<typeof UI_INPUT>['messages'][number]): string | undefined {
  let last: string | undefined;
  let isNew = false;
  for (const { type, toolCallId } of parts) {
    const [step] = stepOf(toolCallId);
    if (type === 'step-start') last = last === undefined ? `${turn}/1` : nextStep(last);
    else if (isNew && step !== undefined) last = step;
    isNew = type === 'step-start' || (isNew && step === undefined);
  }
  return last;
}

function nextStep(step: string): string {
  return step.replace(/\d+$/, (number) => String(Number(number) + 1));
}

/** Where the client's copy of the conversation ends. */
interface Position {
  /** The message that the answer continues. Absent: the answer is a message of its own. */
  message?: string | undefined;
  /** The ids of the words that are answered. Empty: the turn that ran last is written. */
  words: readonly string[];
  /** The steps with calls that the client has. */
  has: ReadonlySet<string>;
  /** The last step in the continued message. It is written anew. */
  step?: string | undefined;
}

function uiWriter(who: PageReader, position: Position): ReturnType<ThreadRequest['writer']> {
  let past: ReadonlySet<string> | undefined;
  let current: string | undefined;
  let written = '';
  let isTextOpen = false;
  const begun = new Set<string>();
  const sent = new Set<string>();
  /** A chunk, if it says anything else than before. */
  const once = (chunk: object): object[] => {
    const isNew = !sent.has(JSON.stringify(chunk));
    sent.add(JSON.stringify(chunk));
    return isNew ? [chunk] : [];
  };
  const endText = (): object[] => {
    const end = isTextOpen ? [{ type: 'text-end', id: current }] : [];
    isTextOpen = false;
    return end;
  };
  const begin = (step: ShownStep): object[] => {
    const before = current === undefined ? start(step.id) : [...endText(), { type: 'finish-step' }];
    const type = current === undefined && step.id === position.step ? 'reset-step' : 'start-step';
    [current, written] = [step.id, ''];
    begun.add(step.id);
    return [...before, { type }];
  };
  const start = (step = ''): object[] => {
    const turn = step.slice(0, step.lastIndexOf('/')) || undefined;
    return [{ type: 'start', messageId: position.message ?? turn }];
  };
  const callsOf = ({ calls }: ShownStep): object[] =>
    calls.flatMap((call) => chunksOf(call, who)).flatMap(once);
  const grown = (step: ShownStep): object[] => {
    const { id: textId, text: whole, isPartial } = step;
    const chunks: object[] = [];
    if (!whole.startsWith(written)) {
      // The model began anew.
      chunks.push(...endText(), { type: 'reset-step' });
      written = '';
    }
    const delta = whole.slice(written.length);
    written = whole;
    if (delta !== '' && !isTextOpen) chunks.push({ type: 'text-start', id: textId });
    if (delta !== '') {
      isTextOpen = true;
      chunks.push({ type: 'text-delta', id: textId, delta });
    }
    return [...chunks, ...(isPartial ? [] : endText()), ...callsOf(step)];
  };
  /** Whether the client has to get a turn that is there when the answer begins. */
  const isAsked = ({ turn, status, messageId, took }: SessionTurn, isLast: boolean): boolean =>
    status === 'running' ||
    position.step?.startsWith(`${turn}/`) === true ||
    (position.words.length === 0 ? isLast : [messageId, ...took].some((one) => position.words.includes(one)));
  const finish = (finishReason: string): object[] => [
    ...(current === undefined ? start() : [...endText(), { type: 'finish-step' }]),
    { type: 'finish', finishReason },
  ];
  return {
    begin: () => [],
    write: (thread) => {
      const { turns } = thread.session;
      past ??= new Set(turns.flatMap((one, at) => (isAsked(one, at === turns.length - 1) ? [] : one.turn)));
      const steps = turns.flatMap(({ turn }) => (past?.has(turn) ? [] : stepsOf(thread, turn)));
      const lacking = steps.filter((step) => step.id === position.step || !position.has.has(step.id));
      return lacking.flatMap((step) => {
        if (step.id === current) return grown(step);
        return begun.has(step.id) ? callsOf(step) : [...begin(step), ...grown(step)];
      });
    },
    said: (data) => ({ type: 'data-countersign-answer', id: data.id, data }),
    waits: (items) => [
      ...items.flatMap(({ id: call, kind, message, about }) =>
        kind === 'request_opened'
          ? []
          : [{ type: 'data-countersign', id: call, data: { message, ...about } }],
      ),
      ...finish('tool-calls'),
    ],
    ended: ({ status, error = status }) => {
      if (status === 'cancelled') return [...endText(), { type: 'abort', reason: 'the turn was cancelled' }];
      return FAILED_ENDS.includes(status) ? [{ type: 'error', errorText: error }] : finish('stop');
    },
    failed: ({ message }) => [{ type: 'error', errorText: message }],
  };
}

/** A call, its request, what people decided on it, and its outcome. `providerExecuted`: the page does not run it. */
function chunksOf(call: ThreadCall, who: PageReader): object[] {
  const { id: toolCallId, tool: toolName, arguments: input, request, settledBy, result } = call;
  const made = {
    type: 'tool-input-available',
    toolCallId,
    toolName,
    input,
    dynamic: true,
    providerExecuted: true,
  };
  const approvalId = `${toolCallId}#${request?.seenDigest}`;
  const item = itemOf(call, who);
  const isDecided = settledBy !== undefined || result !== undefined;
  const approved = settledBy !== undefined && settledBy.decision !== 'denied';
  const asked = { type: 'tool-approval-request', approvalId, toolCallId };
  const approvalDescriptor = item?.about;
  const said = { type: 'tool-approval-response', approvalId, approved, reason: settledBy?.reason };
  const asks = item?.kind === 'request_opened' ? [{ ...asked, approvalDescriptor }] : [];
  return [
    made,
    ...(request !== undefined && isDecided ? [asked, said] : asks),
    ...(result === undefined ? [] : [outcomeOf(call, result.error?.code)]),
  ];
}

function outcomeOf(call: ThreadCall, code: string | undefined): object {
  const said = { toolCallId: call.id };
  if (code === 'denied') return { type: 'tool-output-denied', ...said };
  if (code !== undefined) return { type: 'tool-output-error', ...said, errorText: outcomeText(call) };
  return { type: 'tool-output-available', ...said, output: outcomeText(call) };
}
