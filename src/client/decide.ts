import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Decision, Resolution } from '../contract/decision';
import { TIMES } from '../contract/limits';
import { SIGNALS, UPDATES } from '../contract/names';
import { readTimeline } from '../history/read';
import { turnNotFound } from '../history/server-errors';
import { viewOf, type TurnView } from '../history/view';
import { answerDecision, answerResolution } from './closed-turn';
import type { Desk } from './desk';
import { isTurn } from './find-turn';
import { sendSignal, sendUpdate, type Message } from './messages';
import type { Answer } from './types';

const RETRY_MS = 200;

/**
 * Decides a request by update; by signal with the same `decisionId` where no worker answers in time.
 * A refusal is an answer. `unknown_call` is asked again for a while: the request may be about to be registered.
 */
export function decideCall(desk: Desk, turn: string, decision: Decision): Promise<Answer> {
  const content = identified(decision);
  const message: Message = { turn, update: UPDATES.decide, signal: SIGNALS.approval, content };
  return send(desk, message, (view) => answerDecision(view, content));
}

/** Resolves a call in doubt; as `decideCall`. */
export function resolveCall(desk: Desk, turn: string, resolution: Resolution): Promise<Answer> {
  const content = identified(resolution);
  const message: Message = { turn, update: UPDATES.resolve, signal: SIGNALS.resolution, content };
  return send(desk, message, (view) => answerResolution(view, content));
}

/** One id by both doors: a message that comes twice is taken once. */
function identified<T extends Decision | Resolution>(
  message: T,
): T & { channel: string; decisionId: string } {
  const { channel = 'client', decisionId = randomUUID() } = message;
  return { ...message, channel, decisionId };
}

async function send(desk: Desk, message: Message, afterwards: (view: TurnView) => Answer): Promise<Answer> {
  const until = Date.now() + TIMES.unknownCallRetry;
  for (;;) {
    const answer = await sendOnce(desk, message);
    if (answer === 'closed') return askRecord(desk, message.turn, afterwards);
    const unknown = answer.status === 'refused' && answer.verdict.code === 'unknown_call';
    if (!unknown || Date.now() >= until) return answer;
    await delay(RETRY_MS);
  }
}

async function sendOnce(desk: Desk, message: Message): Promise<Answer | 'closed'> {
  const answer = await sendUpdate(desk, message);
  if (answer !== 'silence') return answer;
  const taken = await sendSignal(desk, message);
  return taken ? { status: 'recorded', decisionId: message.content.decisionId } : 'closed';
}

async function askRecord(desk: Desk, turn: string, afterwards: (view: TurnView) => Answer): Promise<Answer> {
  if (!(await isTurn(desk, turn))) throw turnNotFound(turn);
  return afterwards(viewOf(await readTimeline(desk.source, turn)));
}
