import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Decision, QuestionAnswer, Refused, Resolution } from '../contract/decision';
import { CountersignError } from '../contract/errors';
import { SECOND, TIMES } from '../contract/limits';
import { SIGNALS, UPDATES } from '../contract/names';
import { readTimeline } from '../history/read';
import {
  detailsOf,
  isAnswerLost,
  isSignalLimit,
  isSilence,
  isTaskFailing,
  isTransient,
  isUpdateLimit,
  isUpdateTotal,
  retry,
  toCountersignError,
  turnNotFound,
  isNotFound,
} from '../history/server-errors';
import { type TurnView, viewOf } from '../history/view';
import type { ClientContext } from './context';
import { isTurn } from './find-turn';
import type { Answer } from './types';
import { isServed, maybeTaken, onceSent, updateIfServed } from './update-or-signal';
import { is } from '../history/fold/guards';
import { answerAnswer, answerDecision, answerResolution, refused, type Sent } from './ended-turn';

/**
 * The time that a client waits for a turn that is busy with updates, and for an edit. An edit is checked before it is
 * recorded, so it is never sent as a signal.
 */
const BUSY_ANSWER = 60 * SECOND;

/**
 * The time for which a client retries after `unknown_call`, because the turn may be about to register the request.
 */
const UNKNOWN_CALL_RETRY = 2 * SECOND;

const UNKNOWN_RETRY_MS = 200;

/**
 * Decides a request by update, or by signal with the same `decisionId` if no worker answers in time. Changed
 * arguments go by signal only if no worker polls the turn's queue. Many decisions at the same time wait for each
 * other, see `sendLimit`. A refusal is an answer. After `unknown_call`, the turn is asked again for a while, because
 * the request may be about to be registered.
 */
export function decideCall(context: ClientContext, turn: string, decision: Decision): Promise<Answer> {
  const content = identified(decision);
  const message: Message = { turn, update: UPDATES.decide, signal: SIGNALS.approval, content };
  return send(context, message, (view) => answerDecision(view, content));
}

/** Resolves a call in doubt. In all other respects this is like `decideCall`. */
export function resolveCall(context: ClientContext, turn: string, resolution: Resolution): Promise<Answer> {
  const content = identified(resolution);
  const message: Message = { turn, update: UPDATES.resolve, signal: SIGNALS.resolution, content };
  return send(context, message, (view) => answerResolution(view, content));
}

/** Answers a question. In all other respects this is like `decideCall`. */
export function answerQuestion(
  context: ClientContext,
  turn: string,
  answer: QuestionAnswer,
): Promise<Answer> {
  const content = identified(answer);
  const message: Message = { turn, update: UPDATES.answer, signal: SIGNALS.answer, content };
  return send(context, message, (view) => answerAnswer(view, content));
}

/** A message with the same id for update and signal, so that it counts once even if it arrives twice. */
function identified<T extends Sent>(message: T) {
  const { channel = 'client', decisionId = randomUUID() } = message;
  return { ...message, channel, decisionId };
}

async function send(
  context: ClientContext,
  message: Message,
  afterwards: (view: TurnView) => Answer,
): Promise<Answer> {
  const until = performance.now() + UNKNOWN_CALL_RETRY;
  for (;;) {
    const answer = await context.sendLimit.run(message.turn, () => sendOnce(context, message));
    if (answer === 'closed') return askRecord(context, message, afterwards);
    const unknown = answer.status === 'refused' && answer.verdict.code === 'unknown_call';
    if (!unknown || performance.now() >= until) return answer;
    await delay(UNKNOWN_RETRY_MS);
  }
}

/**
 * Sends a message. It goes by signal only if no worker answers, because a signal is in history before its content is
 * checked.
 */
async function sendOnce(context: ClientContext, message: Message): Promise<Answer | 'closed'> {
  const answer = await untilAnswered(context, message);
  if (answer !== 'silence') return answer;
  return onceSent(message.turn, async () => {
    const taken = await sendSignal(context, message);
    if (taken === 'full') return byUpdateAlone(context, message);
    return taken === 'sent' ? { status: 'recorded', decisionId: message.content.decisionId } : 'closed';
  });
}

/** Sends by update only, for a turn that takes no more signals, while there is a worker to answer. */
async function byUpdateAlone(context: ClientContext, message: Message): Promise<Answer | 'closed'> {
  const until = performance.now() + BUSY_ANSWER;
  while (performance.now() < until && (await isServed(context, message.turn))) {
    const answer = await sendUpdate(context, message, TIMES.updateAnswer);
    if (isAnswer(answer)) return answer;
  }
  throw signalsFull(message.turn);
}

function signalsFull(turn: string) {
  const message = `the decision is not on record: turn ${turn} had all the signals that the server allows one workflow, and no worker answered the update, which the server may still hand to one that comes soon`;
  const hint = `see countersign show ${turn} when a worker runs (countersign worker), and decide again if it still waits`;
  return new CountersignError('full', message, { hint, data: { turn } });
}

async function untilAnswered(
  context: ClientContext,
  message: Message,
): Promise<Answer | 'closed' | 'silence'> {
  const { turn, content } = message;
  const isEdit = 'decision' in content && content.decision === 'modified';
  const answer = await updateIfServed(context, turn, {
    send: async (ms) => {
      const end = await sendUpdate(context, message, ms);
      // A turn takes a signal however many updates wait for it. An edit waits for its place.
      const isBySignal = end === 'spent' || (end === 'full' && !isEdit);
      return isAnswer(end) || isBySignal ? end : undefined;
    },
    most: () => (isEdit ? BUSY_ANSWER : TIMES.updateAnswer),
  });
  if (answer !== undefined) return isAnswer(answer) ? answer : 'silence';
  // The worker may have gone by now.
  if (!isEdit || !(await isServed(context, turn))) return 'silence';
  throw unanswered(turn);
}

function isAnswer(end: UpdateEnd): end is Answer | 'closed' {
  return end !== 'silence' && end !== 'full' && end !== 'spent';
}

function unanswered(turn: string) {
  const message = `turn ${turn} did not answer within ${BUSY_ANSWER / 1000} s, though a worker polls its queue; the change went by update alone, and may still take effect`;
  const hint = `countersign show ${turn} shows whether the worker fails at it; decide again if the request still waits when it goes on`;
  return new CountersignError('server_failed', message, { hint, data: { turn } });
}

async function askRecord(
  context: ClientContext,
  { turn, content }: Message,
  afterwards: (view: TurnView) => Answer,
): Promise<Answer> {
  if (!(await isTurn(context, turn))) throw turnNotFound(turn);
  const view = viewOf(await readTimeline(context.source, turn));
  if (view.endedAt !== null || signedRun(content) === undefined) return afterwards(view);
  return refused(content, 'stale_args', 'the turn goes on in another run; look again, and sign that');
}

/**
 * The run to which a message goes. A signature is for one run, so a signed message never goes to a later one. Undefined:
 * the run that is open.
 */
function signedRun(content: Sent) {
  return 'signature' in content && content.signature !== undefined ? content.runId : undefined;
}

/** A decision, a resolution or an answer on its way to a turn, by update or by signal. */
interface Message {
  turn: string;
  update: string;
  signal: string;
  content: Sent & { decisionId: string };
}

const BUSY_MS = 10_000;
const SIGNAL_MS = 5_000;

/**
 * How an update ended. The answer to it, or: `closed` if the turn has ended or does not exist; `silence` if no
 * worker answered, or a worker fails at the turn; `full` if the turn has as many updates in flight as the server
 * allows; `spent` if the turn has had as many updates as it can ever take.
 */
type UpdateEnd = Answer | 'closed' | 'silence' | 'full' | 'spent';

/**
 * Sends by update and waits for `waitMs`. The update's id is the id of the decision, so sending it again is the same
 * update.
 */
async function sendUpdate(context: ClientContext, message: Message, waitMs: number): Promise<UpdateEnd> {
  const { turn, update, content } = message;
  const handle = context.client.workflow.getHandle(turn, signedRun(content));
  const execute = () =>
    handle.executeUpdate<unknown, [Message['content']]>(update, {
      args: [content],
      updateId: content.decisionId,
    });
  try {
    const send = () => context.connection.withDeadline(Date.now() + waitMs, execute);
    const verdict = await whileBusy(() => retry({ passes: isTaskFailing, forMs: waitMs }, send));
    if (is.accepted(verdict)) return { status: 'accepted', verdict };
  } catch (error) {
    return answerOf(error, message);
  }
  throw notATurn(turn);
}

function answerOf(error: unknown, { turn }: Message): UpdateEnd {
  if (error instanceof WorkflowUpdateFailedError) {
    const verdict = refusalIn(error.cause);
    if (verdict === undefined) throw notATurn(turn, error);
    return { status: 'refused', verdict };
  }
  if (isNotFound(error)) return 'closed';
  if (isSilence(error) || isTaskFailing(error)) return 'silence';
  if (isUpdateTotal(detailsOf(error))) return 'spent';
  if (isUpdateLimit(detailsOf(error))) return 'full';
  throw failureOf(error, turn);
}

function refusalIn(cause: unknown): Refused | undefined {
  const [refused] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return is.refused(refused) ? refused : undefined;
}

function notATurn(turn: string, cause?: unknown) {
  const why = cause instanceof Error && cause.cause instanceof Error ? `: ${cause.cause.message}` : '';
  const hint = 'is its worker of this version? countersign doctor shows it';
  return new CountersignError('server_failed', `turn ${turn} did not understand the decision${why}`, {
    hint,
    cause,
  });
}

/**
 * `closed` if the turn has ended or does not exist. `full` if it has had as many signals as the server allows.
 */
type SignalEnd = 'sent' | 'closed' | 'full';

/** Sends by signal. The message is durable as soon as the server has it. */
async function sendSignal(context: ClientContext, { turn, signal, content }: Message): Promise<SignalEnd> {
  const handle = context.client.workflow.getHandle(turn, signedRun(content));
  const send = () => handle.signal(signal, content);
  try {
    await whileBusy(() => context.connection.withDeadline(Date.now() + SIGNAL_MS, send));
    return 'sent';
  } catch (error) {
    if (isNotFound(error)) return 'closed';
    if (isSignalLimit(error)) return 'full';
    throw failureOf(error, turn);
  }
}

function failureOf(error: unknown, turn: string) {
  return isAnswerLost(error)
    ? maybeTaken(turn, error)
    : toCountersignError(error, `deciding in turn ${turn}`);
}

/** Sends again while a turn is busy. A turn that is just closing or continuing as new is busy for a moment. */
function whileBusy<T>(act: () => Promise<T>): Promise<T> {
  const passes = (error: unknown) =>
    isTransient(error) && !isSilence(error) && !isUpdateLimit(detailsOf(error));
  return retry({ passes, forMs: BUSY_MS }, act);
}
