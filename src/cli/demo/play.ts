import type { Countersign } from '../../client';
import type { Decision } from '../../contract/decision';
import { CountersignError } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import type { RequestOpened } from '../../history/events';
import { assertTaken } from '../answer';
import { osUser } from '../context';
import { eventLines } from '../print/event';
import { proposalLines } from '../print/request';
import type { Screen } from '../print/screen';
import type { Answerer, Reply } from './ask';
import { newTextOf, SCENE, withNewText } from './scene';

/** What the turn is played with. */
export interface Play {
  desk: Countersign;
  taskQueue: string;
  answer: Answerer;
  screen: Screen;
  signal: AbortSignal;
}

/** How the turn went: its id, and the text that a person let stand in the file; undefined where nothing was. */
export interface Played {
  turn: string;
  text: string | undefined;
}

/** Starts the turn, prints what happens as it happens, and answers every request. */
export async function play({ desk, taskQueue, answer, screen, signal }: Play): Promise<Played> {
  const { turn } = await desk.start({ agent: SCENE.agent, prompt: SCENE.prompt, taskQueue });
  let text: string | undefined;
  let round = 0;
  for await (const event of desk.follow(turn, { signal })) {
    screen.lines(eventLines(event, screen));
    if (event.type === 'turn_ended' && event.status !== 'answered') throw noAnswer(event.status);
    if (event.type !== 'request_opened') continue;
    screen.lines(['', ...proposalLines(event, { turn, screen, now: Date.now() }), '']);
    const reply = await answer(event.arguments, ++round);
    text = textAfter(reply, event.arguments);
    assertTaken(await desk.decide(turn, toDecision(event, reply)), `${turn}/${event.callId}`);
  }
  signal.throwIfAborted();
  if (round === 0) throw new CountersignError('turn_failed', 'the agent proposed no change');
  return { turn, text };
}

function textAfter(reply: Reply, args: JsonObject): string | undefined {
  if (reply.answer === 'deny') return undefined;
  return reply.answer === 'edit' ? reply.text : newTextOf(args);
}

function toDecision(event: RequestOpened, reply: Reply): Decision {
  const { callId, callKey, argsDigest } = event;
  const head = { callId, callKey, argsDigest, approver: osUser(), channel: 'cli' };
  if (reply.answer === 'approve') return { ...head, decision: 'approved' };
  if (reply.answer === 'deny') return { ...head, decision: 'denied', reason: reply.reason };
  return { ...head, decision: 'modified', arguments: withNewText(event.arguments, reply.text) };
}

function noAnswer(status: string): CountersignError {
  return new CountersignError('turn_failed', `the turn ended without an answer: ${status}`);
}
