import { setHandler } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import {
  ASKED_QUESTION,
  type AskedQuestion,
  type CallQuestion,
  type CallReply,
  type ValidCall,
} from '../contract/call';
import { ENDINGS } from '../contract/call-texts';
import { digestJson } from '../contract/digest';
import { isObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { callKey, FAILURES, SIGNALS, UPDATES } from '../contract/names';
import type { Question } from '../contract/question';
import { describeIssues } from '../contract/read-json';
import { guard } from '../contract/schema/message';
import { toForm } from '../contract/schema/question-form';
import { utf8Bytes } from '../contract/text/bytes';
import { askedOf } from '../lifecycle/events';
import { failureOf } from '../lifecycle/results';
import {
  type Approvals,
  type CallState,
  type QuestionCall as OpenQuestion,
  type RunningCall,
  secretOf,
} from '../lifecycle/state';
import { act, untilTrue } from './call-life';
import type { MessageQueue } from './message-queue';
import { memoRoom, recordCall } from './publish';
import { BOUNDS, onSignal, rawUpdate, readMessage, refusalFailure } from './messages';
import type { Turn } from './turn-state';

/** A question that a running call may ask, with the call. */
interface Asked {
  by: RunningCall;
  question: Question;
  attempt: number;
  number: number;
}

type Judged = { ok: true; asked: Asked } | { ok: false; why: string; isFull?: true };

/**
 * Takes the questions of running calls. Only the activity of a call knows its secret, so nobody else can ask in its
 * name. The question waits in the inbox like a question of an agent. Its answer goes to the call and allows nothing.
 * The question is closed when the call ends in any way, or earlier when the call withdraws it.
 */
export function setAskHandlers(turn: Turn, queue: MessageQueue): void {
  const validator = (message: RawValue): void => void inOrder(turn, message);
  setHandler(rawUpdate<CallReply>(UPDATES.ask), (message) => ask(turn, inOrder(turn, message)), {
    validator,
    description: 'A call that runs asks a person',
  });
  const withdraw = (message: RawValue) => takeBack(turn, message);
  onSignal(queue, SIGNALS.withdraw, withdraw, 'A call that runs withdraws its question');
}

function takeBack(turn: Turn, message: RawValue) {
  const read = readMessage(message, BOUNDS.withdrawal);
  if (read.ok) withdrawQuestion(turn, read.value);
}

/**
 * Closes the question that a message from any sender withdraws. Nothing changes if no such question waits, for example
 * because a person answered first.
 */
function withdrawQuestion(turn: Turn, message: unknown) {
  if (!isAsked(message) || askerOf(turn.approvals, message) === undefined) return;
  const { callId, attempt, number } = message;
  const state = openBy(turn.approvals, callId).find(
    ({ asking }) => asking?.attempt === attempt && asking.number === number,
  );
  if (state !== undefined) close(turn, state, 'askerWithdrew');
}

function close(turn: Turn, state: OpenQuestion, cause: 'askerWithdrew' | 'askerEnded') {
  const result = failureOf(state, ENDINGS[cause], Date.now());
  act(turn, { type: 'closed', callId: state.call.callId, cause, result, at: Date.now() });
}

/**
 * Checks a question. The handler checks it again, because after a reset Temporal applies updates without their
 * validator.
 */
function inOrder(turn: Turn, message: RawValue): Asked {
  const judged = judge(turn.approvals, message);
  if (judged.ok) return judged.asked;
  const type = judged.isFull === true ? FAILURES.askLater : FAILURES.ask;
  throw refusalFailure({ code: 'malformed', message: judged.why }, type);
}

async function ask(turn: Turn, asked: Asked): Promise<CallReply> {
  const callId = openQuestion(turn, asked);
  const state = (): CallState | undefined => turn.approvals.calls.get(callId);
  await untilTrue(() => state()?.phase !== 'question');
  return replyOf(state());
}

function judge(approvals: Approvals, message: RawValue): Judged {
  const read = readMessage(message, BOUNDS.question);
  if (!read.ok) return { ok: false, why: read.message };
  if (!isQuestion(read.value)) return { ok: false, why: 'not a question of a call' };
  const { callId, attempt, number, question } = read.value;
  const by = askerOf(approvals, read.value);
  if (by?.phase !== 'running' || by.call.settings.askMs === undefined || approvals.cancelled)
    return { ok: false, why: `no call ${callId} that runs may ask` };
  const { questions, leftMs } = askedOf(by);
  if (questions >= LIMITS.questionsOfCall)
    return { ok: false, why: `a call asks at most ${LIMITS.questionsOfCall} questions` };
  if (leftMs <= 0) return { ok: false, why: 'the time in which it may ask is over' };
  if (openBy(approvals, callId).some(({ asking }) => asking?.attempt === attempt))
    return { ok: false, why: 'it asks one question at a time' };
  const others = [...approvals.calls.values()].filter(({ call }) => call.askedBy !== callId);
  if (askingCalls(others).size >= LIMITS.questionsAtOnce)
    return { ok: false, why: 'other calls of this turn ask already', isFull: true };
  return withForm({ by, question, attempt, number });
}

/** The call that asks. Undefined if the message does not come from the execution of that call. */
function askerOf({ calls }: Approvals, asked: AskedQuestion): CallState | undefined {
  const by = calls.get(asked.callId);
  const isIts = by?.callKey === asked.callKey && by.generation === asked.generation;
  return isIts && secretOf(by) === asked.secret ? by : undefined;
}

function withForm({ question, ...by }: Asked): Judged {
  const { text } = question;
  const made = toForm(question.form);
  if (!made.ok) return { ok: false, why: `nobody could fill in the form: ${describeIssues(made.issues)}` };
  if (text.trim() === '' || text.length > LIMITS.questionChars)
    return { ok: false, why: `a question has 1 to ${LIMITS.questionChars} characters` };
  const bytes = utf8Bytes(JSON.stringify([text, made.form]));
  if (bytes > LIMITS.callQuestionBytes)
    return { ok: false, why: `a question with its form has at most ${LIMITS.callQuestionBytes} bytes` };
  if (bytes > memoRoom()) return { ok: false, why: 'the memo of this turn has no room for it' };
  return { ok: true, asked: { ...by, question: { text, form: made.form } } };
}

const isAsked = guard(ASKED_QUESTION);

/** The form may be anything: `toForm` reads it. */
function isQuestion(value: unknown): value is CallQuestion {
  if (!isObject(value) || !isObject(value['question'])) return false;
  return typeof value['question']['text'] === 'string' && isAsked(value);
}

/**
 * Closes the questions of a lost attempt of the call, and opens the new question. The whole question is recorded, as for
 * a gate.
 */
function openQuestion(turn: Turn, { by, question, attempt, number }: Asked) {
  closeQuestions(turn, by.call.callId);
  const call = questionCall(by, question);
  const { callId } = call;
  const asking = { attempt, number };
  act(turn, {
    type: 'registered',
    call,
    callKey: callKey(turn.stepKey, callId),
    asking,
    at: Date.now(),
  });
  recordCall(call);
  return callId;
}

function questionCall(by: RunningCall, question: Question): ValidCall {
  const { questions, leftMs } = askedOf(by);
  const { callId: askedBy, tool, toolDigest, settings } = by.call;
  // A call that runs again asks anew, and its questions get new ids.
  const callId = `${askedBy}.${by.generation}.${questions + 1}`;
  const { askMs: _askMs, child: _child, state: _state, local: _local, ...shared } = settings;
  return {
    kind: 'ask',
    callId,
    id: callId,
    tool,
    toolDigest,
    askedBy,
    question,
    arguments: {},
    argsDigest: digestJson({}),
    settings: {
      ...shared,
      safety: 'safe',
      effect: 'pure',
      requestExpiresMs: Math.max(1, leftMs),
    },
  };
}

/** Closes the questions of a call that has ended. */
export function closeQuestions(turn: Turn, callId: string): void {
  for (const state of openBy(turn.approvals, callId)) close(turn, state, 'askerEnded');
}

/** Ids of the calls that wait for an answer of a person. */
export function askingCalls(calls: readonly CallState[]): ReadonlySet<string> {
  return new Set(calls.flatMap(({ phase, call }) => (phase === 'question' ? (call.askedBy ?? []) : [])));
}

function openBy({ calls }: Approvals, callId: string): OpenQuestion[] {
  return [...calls.values()].flatMap((state) =>
    state.phase === 'question' && state.call.askedBy === callId ? [state] : [],
  );
}

function replyOf(state: CallState | undefined): CallReply {
  const { answer, content = {} } = (state?.phase === 'done' ? state.said : undefined) ?? {};
  if (answer === undefined) return { answer: 'unanswered' };
  return answer === 'answered' ? { answer, content } : { answer };
}
