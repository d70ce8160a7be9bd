import { z } from 'zod';
import { id, shortList } from '../request-body';
import type { ThreadRequest } from './look';
import { FAILED_ENDS, type Item, outcomeText, type ShownStep, stepsOf, type Thread } from './thread';

const text = z.string().catch('');
const content = z
  .union([
    z.string(),
    z.array(z.object({ text })).transform((parts) => parts.map((one) => one.text).join('\n')),
  ])
  .catch('');
const called = z.object({ id: text, type: text, function: z.object({ name: text, arguments: text }) });
const message = z.object({ id: text, role: text, content, toolCalls: shortList(called).catch([]) });

/** A message as clients of this protocol keep it. */
interface Message extends z.infer<typeof message> {
  toolCallId?: string;
  metadata?: object;
}

/** What a client sends. Of its messages only new words count: the others only tell what the client has already. */
export const AG_UI_INPUT = z.object({
  threadId: id,
  runId: id,
  messages: shortList(message),
  resume: shortList(
    z.object({
      interruptId: z.string().max(1_000),
      status: z.enum(['resolved', 'cancelled']),
      payload: z.unknown().optional(),
    }),
  ).default([]),
});

/** Reads a request of AG-UI 1.0, and writes its events. `cancelled` means that somebody else may say it, and denies nothing. */
export function agUi({ threadId, runId, messages, resume }: z.infer<typeof AG_UI_INPUT>): ThreadRequest {
  const words = messages.slice(messages.findLastIndex(({ role }) => role !== 'user') + 1);
  let has: Message[] = messages.filter(({ role }) => ['user', 'assistant', 'tool'].includes(role));
  let open: string | undefined;
  let step: string | undefined;
  const close = (): object[] => {
    const end = open === undefined ? [] : [{ type: 'TEXT_MESSAGE_END', messageId: open }];
    open = undefined;
    return end;
  };
  const toStep = (next?: string): object[] => {
    if (next === step) return [];
    const events = step === undefined ? [] : [...close(), { type: 'STEP_FINISHED', stepName: step }];
    step = next;
    return next === undefined ? events : [...events, { type: 'STEP_STARTED', stepName: next }];
  };
  /** What a message has grown by. */
  const grown = (now: Message, before: Message | undefined, isPartial: boolean): object[] => {
    const { id: messageId, role, toolCallId, metadata } = now;
    if (toolCallId !== undefined)
      return before
        ? []
        : [{ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content: now.content, metadata }];
    const delta = now.content.slice(before?.content.length ?? 0);
    const calls = now.toolCalls.slice(before?.toolCalls.length ?? 0);
    const events = role === 'assistant' && (delta !== '' || calls.length > 0) ? toStep(messageId) : [];
    if (delta !== '' && open !== messageId)
      events.push(...close(), { type: 'TEXT_MESSAGE_START', messageId, role });
    if (delta !== '') {
      open = messageId;
      events.push({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta });
    }
    if (open === messageId && !isPartial) events.push(...close());
    return [...events, ...calls.flatMap((call) => callOf(call, messageId))];
  };
  const finish = (outcome: object, result?: object): object[] => [
    ...[...close(), ...toStep(), { type: 'RUN_FINISHED', threadId, runId, outcome, result }],
  ];
  return {
    thread: threadId,
    runId,
    channel: 'ag-ui',
    words: words.map((one) => ({ messageId: one.id, text: one.content })),
    answers: resume.flatMap(({ interruptId, status, payload }) =>
      status === 'resolved' ? [{ id: interruptId, said: payload }] : [],
    ),
    writer: () => ({
      begin: () => [{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }],
      write: (thread) => {
        const record = recordOf(thread);
        const known = new Map(has.map((one) => [one.id, one]));
        const partial = thread.words && `${thread.words.turn}/${thread.words.step}`;
        const next = new Map(record.map((one) => [one.id, one]));
        const isContinued = has.every((one) => isGrown(one, next.get(one.id)));
        has = record;
        return isContinued
          ? record.flatMap((now) =>
              grown(now, known.get(now.id), now.id === partial && now.toolCalls.length === 0),
            )
          : [...close(), ...toStep(), { type: 'MESSAGES_SNAPSHOT', messages: record }];
      },
      said: (value) => ({ type: 'CUSTOM', name: 'countersign.answer', value }),
      waits: (items) => [
        ...items.flatMap(({ kind, about }) =>
          kind === 'request_opened' ? [] : [{ type: 'CUSTOM', name: `countersign.${kind}`, value: about }],
        ),
        ...finish({ type: 'interrupt', interrupts: items.map(interruptOf) }),
      ],
      ended: ({ status, answer, error = status }) => {
        if (FAILED_ENDS.includes(status)) return [{ type: 'RUN_ERROR', message: error, code: status }];
        const type = status === 'cancelled' ? status : 'success';
        return finish({ type }, type === 'success' ? { status, answer } : undefined);
      },
      failed: ({ code, message: said }) => [{ type: 'RUN_ERROR', message: said, code }],
    }),
  };
}

function callOf(
  { id: toolCallId, function: { name, arguments: delta } }: z.infer<typeof called>,
  parent: string,
) {
  return [
    { type: 'TOOL_CALL_START', toolCallId, toolCallName: name, parentMessageId: parent },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta },
    { type: 'TOOL_CALL_END', toolCallId },
  ];
}

/** Whether a client comes from one message to the other by additions alone. */
function isGrown(one: Message, now: Message | undefined) {
  const calls = JSON.stringify(one.toolCalls).slice(0, -1);
  if (now?.role !== one.role || !JSON.stringify(now.toolCalls).startsWith(calls)) return false;
  return one.role === 'tool' ? now.content === one.content : now.content.startsWith(one.content);
}

/** The messages of a conversation. Of turns that are not known in whole, the words and the answer. */
export function recordOf(thread: Thread): Message[] {
  const { turns, messages, waiting } = thread.session;
  const userSaid = (one: string, words = messages.find(({ messageId }) => messageId === one)?.text ?? '') =>
    plain(one, 'user', words);
  const past = turns.flatMap(({ turn, messageId, prompt, took, answer }) => {
    const steps = stepsOf(thread, turn).flatMap(messagesOf);
    const isKnown = thread.turns.has(turn) || answer === undefined;
    const said = isKnown ? steps : [plain(`${turn}/answer`, 'assistant', answer)];
    return [userSaid(messageId, prompt), ...took.map((one) => userSaid(one)), ...said];
  });
  return [...past, ...waiting.map(({ messageId }) => userSaid(messageId))];
}

function plain(one: string, role: string, words: string): Message {
  return { id: one, role, content: words, toolCalls: [] };
}

function messagesOf({ id: step, text: words, calls }: ShownStep): Message[] {
  const toolCalls = calls.map(({ id: call, tool: name, arguments: args }) => ({
    id: call,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  const outcomes = calls.flatMap((call) => {
    if (call.result === undefined) return [];
    const { success, error } = call.result;
    const metadata = { countersign: { success, code: error?.code } };
    return [{ ...plain(`${call.id}#result`, 'tool', outcomeText(call)), toolCallId: call.id, metadata }];
  });
  return [{ ...plain(step, 'assistant', words), toolCalls }, ...outcomes];
}

function interruptOf({ id: asked, call, kind, message: line, expiresAt, schema, about }: Item): object {
  return {
    id: asked,
    reason: kind === 'request_opened' ? 'tool_call' : 'input_required',
    message: line,
    toolCallId: call,
    responseSchema: schema,
    expiresAt,
    metadata: { countersign: about },
  };
}
