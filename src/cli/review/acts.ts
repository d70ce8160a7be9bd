import { randomUUID } from 'node:crypto';
import type { Answer } from '../../client';
import type { ResolutionKind } from '../../contract/decision';
import { decideByHunks } from '../decide/by-hunks';
import { decideByEditor } from '../decide/edited';
import { confirmSight } from '../decide/sight';
import { decide, givenUp, idOf, requestOf, type Subject } from '../decide/subject';
import { confirm, untilSaid } from '../terminal/ask';
import type { Terminal } from '../terminal/terminal';
import type { ReviewAct } from './keys';

/**
 * Asks for what an act still needs, and decides. Nothing is let run by one key: each yes is asked for a second time.
 *
 * @throws CountersignError `given_up`, and what deciding throws. Interrupted.
 */
export function decideAs(
  act: Exclude<ReviewAct, 'next' | 'back' | 'quit' | 'show'>,
  subject: Subject,
  terminal: Terminal,
): Promise<Answer> {
  switch (act) {
    case 'approve':
      return approve(subject, terminal);
    case 'edit':
      return decideByEditor(subject, terminal);
    case 'hunks':
      return decideByHunks(subject, terminal);
    case 'deny':
      return deny(subject, terminal);
    default:
      return resolve(act, subject, terminal);
  }
}

async function approve(subject: Subject, terminal: Terminal): Promise<Answer> {
  const request = requestOf(subject);
  const sure = await confirm(terminal, `Approve ${idOf(subject)} ${request.tool} as it is?`);
  if (!sure || !(await confirmSight(request, terminal))) throw givenUp('you did not confirm');
  return decide(subject, { decision: 'approved' });
}

async function deny(subject: Subject, terminal: Terminal): Promise<Answer> {
  const reason = await untilSaid(terminal, 'Why not? The model reads it: ');
  return decide(subject, { decision: 'denied', reason });
}

async function resolve(resolution: ResolutionKind, subject: Subject, terminal: Terminal): Promise<Answer> {
  const { desk, turn, call, said } = subject;
  const reason = await untilSaid(terminal, 'How do you know? The model reads it: ');
  const returned =
    resolution === 'happened' ? await terminal.ask('What did it return? (Enter: nobody knows) ') : '';
  if (!(await confirm(terminal, QUESTIONS[resolution]))) throw givenUp('you did not confirm');
  return desk.resolve(turn, {
    callId: call.callId,
    resolution,
    reason,
    approver: said.approver,
    channel: 'cli',
    decisionId: randomUUID(),
    ...(call.doubt === undefined ? {} : { callKey: call.doubt.callKey }),
    ...(returned.trim() === '' ? {} : { content: returned }),
  });
}

const QUESTIONS: Readonly<Record<ResolutionKind, string>> = {
  happened: 'Go on as if it happened, once?',
  'did-not': 'Go on as if it did not happen?',
  'run-again': 'Start it once more?',
};
