import type { InboxItem } from '../../src/client/types';
import type { QuestionOpened, RequestOpened } from '../../src/history/events';
import type { CallView, TurnView } from '../../src/history/view';
import { createStyle, type Screen } from '../../src/cli/print/screen';
import { PLAN } from '../support/calls';

/** When everything made up here happens. */
export const NOW = Date.parse('2026-11-21T12:00:00Z');
export const AT = '2026-11-21T12:00:00.000Z';

/** A screen without colour that keeps what is printed. */
export function testScreen(width = 100): Screen & { printed: string[]; drawn: string[][] } {
  const printed: string[] = [];
  const drawn: string[][] = [];
  const line = (text = ''): void => void printed.push(text);
  return {
    printed,
    drawn,
    draw: (texts) => void drawn.push([...texts]),
    width,
    style: createStyle(false),
    isTerminal: false,
    line,
    lines: (texts) => printed.push(...texts),
    json: (value) => line(JSON.stringify(value)),
    jsonLine: (value) => line(JSON.stringify(value)),
    note: line,
  };
}

/** A request to pay 10. */
export function request(extra: Partial<RequestOpened> = {}): RequestOpened {
  return {
    type: 'request_opened',
    now: { phase: 'request', votes: [] },
    eventId: 10,
    at: AT,
    callId: '1.1',
    callKey: 'key:1.1',
    tool: 'pay',
    safety: 'dangerous',
    effect: 'unsafe',
    arguments: { amount: 10, to: 'ann' },
    seenDigest: '0123456789abcdef'.repeat(4),
    toolDigest: 'fedcba9876543210'.repeat(4),
    deadline: null,
    summary: '1.1 pay amount=10 to=ann',
    ...extra,
  };
}

/** A file proposal with the hunks 1 and 2. */
export function proposal(extra: Partial<RequestOpened> = {}): RequestOpened {
  return request({
    tool: 'edit_file',
    arguments: { path: 'a.txt' },
    preview: { text: 'diff', plan: PLAN },
    ...extra,
  });
}

/** A call that waits for a decision on its request. */
export function call(extra: Partial<CallView> = {}): CallView {
  const opened = extra.request ?? request();
  return {
    callId: opened.callId,
    step: 1,
    tool: opened.tool,
    phase: 'request',
    arguments: opened.arguments,
    effective: opened.arguments,
    generation: 0,
    request: opened,
    answers: [],
    decisions: [],
    votes: [],
    resolutions: [],
    late: [],
    ...extra,
  };
}

/** A turn with these calls. */
export function turn(calls: CallView[] = [], extra: Partial<TurnView> = {}): TurnView {
  const requests = calls.flatMap(({ phase, request: opened }) =>
    phase === 'request' && opened ? [opened] : [],
  );
  return {
    turn: 't-1',
    runId: 'run',
    agent: 'clerk',
    prompt: 'pay ann',
    taskQueue: 'countersign',
    status: requests.length > 0 ? 'waiting' : 'running',
    startedAt: AT,
    endedAt: null,
    steps: [],
    calls,
    requests,
    questions: calls.flatMap(({ phase, question: asked }) => (phase === 'question' && asked ? [asked] : [])),
    inDoubt: [],
    cancelRequested: false,
    abandoned: false,
    unjudged: 0,
    ...extra,
  };
}

/** A request to pay 10, as the inbox lists it. */
export function inboxItem(extra: Partial<InboxItem> = {}): InboxItem {
  return {
    turn: 't-1',
    agent: 'clerk',
    callId: '1.1',
    callKey: 'k',
    kind: 'request',
    tool: 'pay',
    summary: '1.1 pay amount=10',
    since: AT,
    deadline: null,
    prompt: 'pay ann',
    ...extra,
  };
}

/** A call that asks where to go. */
export function question(extra: Partial<CallView> = {}): CallView {
  const form = {
    type: 'object',
    properties: {
      city: { type: 'string', title: 'City', minLength: 2 },
      nights: { type: 'integer', minimum: 1, default: 3 },
      room: { type: 'string', enum: ['single', 'double'] },
      late: { type: 'boolean' },
    },
    required: ['city'],
    additionalProperties: false,
  };
  const opened: QuestionOpened = {
    ...{ type: 'question_opened', eventId: 10, at: AT, callId: '1.1', callKey: 'key:1.1', tool: 'ask_user' },
    ...{ question: { text: 'Where to?', form }, deadline: null, summary: '1.1 ask_user Where to?' },
  };
  const { request: _, ...made } = call({ tool: 'ask_user', arguments: {}, effective: {} });
  return { ...made, phase: 'question', question: opened, ...extra };
}
