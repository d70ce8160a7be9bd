import { z } from 'zod';
import type { SessionTurn } from '../../history/session/events';
import { id, shortList } from '../request-body';
import type { ThreadRequest } from './look';
import {
  FAILED_ENDS,
  type PageReader,
  type ShownStep,
  type ThreadCall,
  askedId,
  itemOf,
  outcomeText,
  stepsOf,
} from './thread';

const text = z.string().catch('');
const part = z.object({
  type: text,
  text,
  state: text,
  id: text,
  approval: z
    .object({ id: text, approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});

/** What a client sends. Only new words and answers to approval requests count: the rest tells what the client has already. */
export const UI_INPUT = z.object({
  id,
  messages: shortList(z.object({ id: text, role: text, parts: shortList(part).catch([]) })),
  trigger: z.literal('submit-message', 'a turn is not made again: send new words').optional(),
});

/**
 * Reads a request of the AI SDK, and writes its UI message stream. A yes carries the digest of what was shown in its id,
 * so it is bound to that. Only answers in the message that is continued count: those of older ones were sent before.
 */
export function aiSdk({ id: thread, messages }: z.infer<typeof UI_INPUT>): ThreadRequest {
  const words = messages.slice(messages.findLastIndex(({ role }) => role !== 'user') + 1).map((one) => ({
    messageId: one.id,
    text: one.parts.flatMap((given) => (given.type === 'text' ? [given.text] : [])).join('\n'),
  }));
  const parts = messages.flatMap((one) => one.parts);
  const last = messages.at(-1);
  const continued = last?.role === 'assistant' ? last : undefined;
  const begunAt = continued?.parts.findLastIndex(({ type }) => type === 'step-start') ?? -1;
  return {
    thread,
    words,
    channel: 'ai-sdk',
    runId: continued?.id ?? '',
    answers: (continued?.parts ?? []).flatMap(({ state, approval }) => {
      const { id: approvalId = '', approved, reason } = approval ?? {};
      const [, asked = '', seenDigest] = /^(.*)#(.*)$/.exec(approvalId) ?? [];
      if (state !== 'approval-responded' || approved === undefined) return [];
      return [{ id: asked, said: { decision: approved ? 'approved' : 'denied', seenDigest, reason } }];
    }),
    writer: (who) =>
      uiWriter(who, {
        message: continued?.id,
        words: words.map((one) => one.messageId),
        has: new Set(stepsIn(parts)),
        step: begunAt < 0 ? undefined : stepsIn(continued?.parts.slice(begunAt)).join(),
      }),
  };
}

/** A part that names the step in which it stands. It comes back with the message, so it tells what the client has. */
const STEP = 'data-countersign-step';

function stepsIn(parts: readonly z.infer<typeof part>[] = []) {
  return parts.flatMap(({ type, id: step }) => (type === STEP ? step : []));
}

/** Where the client's copy of the conversation ends. */
interface Position {
  /** The message that the answer continues. Absent: the answer is a message of its own. */
  message?: string;
  /** The ids of the words that are answered. Empty: the turn that ran last is written. */
  words: readonly string[];
  /** The steps that the client has. */
  has: ReadonlySet<string>;
  /** The last step in the continued message. It is written anew. Empty: of this step only the beginning came. */
  step?: string;
}

function uiWriter(who: PageReader, position: Position): ReturnType<ThreadRequest['writer']> {
  let past: ReadonlySet<string> | undefined;
  let current: string | undefined;
  let written = '';
  let isTextOpen = false;
  const begun = new Set<string>();
  const sent = new Set<string>();
  /** A chunk, if it says anything else than before. */
  const once = (chunk: object) => {
    const isNew = !sent.has(JSON.stringify(chunk));
    sent.add(JSON.stringify(chunk));
    return isNew ? [chunk] : [];
  };
  const endText = (): object[] => {
    const end = isTextOpen ? [{ type: 'text-end', id: current }] : [];
    isTextOpen = false;
    return end;
  };
  const start = (turn?: string): object => ({ type: 'start', messageId: position.message ?? turn });
  const begin = (type: 'start-step' | 'reset-step', step: string): object[] => {
    [current, written] = [step, ''];
    begun.add(step);
    return [{ type }, { type: STEP, id: step, data: {} }];
  };
  /** What comes before the text of a step. */
  const opening = ({ id: step, turn, text: whole }: ShownStep): object[] => {
    if (current === undefined) {
      const isAnew = [step, ''].some((one) => one === position.step);
      return [start(turn), ...begin(isAnew ? 'reset-step' : 'start-step', step)];
    }
    if (step !== current) return [...endText(), { type: 'finish-step' }, ...begin('start-step', step)];
    // If the text is another one, the model began anew.
    return whole.startsWith(written) ? [] : [...endText(), ...begin('reset-step', step)];
  };
  const callsOf = ({ calls }: ShownStep) => calls.flatMap((call) => chunksOf(call, who)).flatMap(once);
  const grown = (step: ShownStep) => {
    if (step.id !== current && begun.has(step.id)) return callsOf(step);
    const chunks = opening(step);
    const delta = step.text.slice(written.length);
    written = step.text;
    if (delta !== '') {
      if (!isTextOpen) chunks.push({ type: 'text-start', id: step.id });
      chunks.push({ type: 'text-delta', id: step.id, delta });
      isTextOpen = true;
    }
    return [...chunks, ...(step.isPartial ? [] : endText()), ...callsOf(step)];
  };
  /** Whether the client has to get a turn that is there when the answer begins. */
  const isAsked = ({ turn, status, messageId, took }: SessionTurn, isLast: boolean) =>
    status === 'running' ||
    position.step?.startsWith(`${turn}/`) === true ||
    (position.words.length === 0 ? isLast : [messageId, ...took].some((one) => position.words.includes(one)));
  const finish = (finishReason: string): object[] => [
    ...(current === undefined ? [start()] : [...endText(), { type: 'finish-step' }]),
    { type: 'finish', finishReason },
  ];
  return {
    begin: () => [],
    write: (thread) => {
      const { turns } = thread.session;
      past ??= new Set(turns.flatMap((one, at) => (isAsked(one, at === turns.length - 1) ? [] : one.turn)));
      const steps = turns.flatMap(({ turn }) => (past?.has(turn) ? [] : stepsOf(thread, turn)));
      return steps.flatMap((one) => (position.has.has(one.id) && one.id !== position.step ? [] : grown(one)));
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
  const approvalId = request && `${askedId(call, request, who.user)}#${request.seenDigest}`;
  const { kind, about } = itemOf(call, who) ?? {};
  const asked = { type: 'tool-approval-request', approvalId, toolCallId };
  const chunks: object[] = [
    { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true, providerExecuted: true },
  ];
  if (kind === 'request_opened') chunks.push({ ...asked, approvalDescriptor: about });
  else if (request && (settledBy ?? result)) {
    const approved = settledBy !== undefined && settledBy.decision !== 'denied';
    const said = { type: 'tool-approval-response', approvalId, approved, reason: settledBy?.reason };
    chunks.push(asked, said);
  }
  const output = outcomeText(call);
  if (result?.error?.code === 'denied') chunks.push({ type: 'tool-output-denied', toolCallId });
  else if (result?.error) chunks.push({ type: 'tool-output-error', toolCallId, errorText: output });
  else if (result) chunks.push({ type: 'tool-output-available', toolCallId, output });
  return chunks;
}
