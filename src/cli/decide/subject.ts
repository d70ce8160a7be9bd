import { randomUUID } from 'node:crypto';
import type { Answer, Countersign } from '../../client';
import type { Decision } from '../../contract/decision';
import { CountersignError } from '../../contract/errors';
import type { RequestOpened } from '../../history/events';
import type { CallView } from '../../history/view';
import { seen } from '../approval';
import type { Context } from '../context';
import { visible } from '../print/visible';

/** One call that a person decides, and what there is to do it with. */
export interface Subject {
  desk: Pick<Countersign, 'decide' | 'resolve'>;
  turn: string;
  call: CallView;
  /** Who decides, and why where it was said already. */
  said: { approver: string; reason?: string };
  context: Pick<Context, 'screen' | 'env'>;
}

/** `<turn>/<call>`. */
export function idOf({ turn, call }: Pick<Subject, 'turn' | 'call'>): string {
  return `${turn}/${call.callId}`;
}

/** The request of a call that waits for a decision. */
export function requestOf({ call }: Subject): RequestOpened {
  if (call.phase === 'requested' && call.request !== undefined) return call.request;
  const hint = 'countersign inbox lists what waits; countersign show tells what became of it';
  throw new CountersignError('usage', `${call.callId} does not wait for a decision`, { hint });
}

/** Decides with what the person saw sent along, under one id: sent twice it is taken once. */
export function decide(
  { desk, turn, call, said }: Subject,
  decision: Omit<Decision, 'callId' | 'argsDigest' | 'callKey' | 'approver' | 'channel' | 'decisionId'>,
): Promise<Answer> {
  const head = { callId: call.callId, ...seen(call), ...said, channel: 'cli', decisionId: randomUUID() };
  return desk.decide(turn, { ...head, ...decision });
}

/** The person left things as they are; not an error of the program, and no decision. */
export function givenUp(why: string): CountersignError {
  return new CountersignError('given_up', `given up: ${visible(why)}; nothing was decided`, {
    hint: 'The request is as open as it was.',
  });
}
