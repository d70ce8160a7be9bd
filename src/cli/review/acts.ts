import type { Answer, InboxItem } from '../../client';
import type { ResolutionKind } from '../../contract/decision';
import { answerByForm, declineAnswer } from './answer';
import { decideByEditor } from './changed';
import { confirmDeceptiveText } from './seen';
import { decide, givenUp, idOf, doubtKeys, requestOf, signingResolution, type Subject } from './decision';
import { askUntilAnswered, type KeyChoice, confirm } from './confirm';
import { decideByHunks } from './hunks';
import type { Terminal } from './terminal';
import type { Hunk } from '../../contract/plan';

/** What a person can do with the current item. */
export type ReviewAct =
  | 'approve'
  | 'edit'
  | 'hunks'
  | 'deny'
  | 'answer'
  | 'decline'
  | 'happened'
  | 'did-not'
  | 'run-again'
  | 'next'
  | 'back'
  | 'show'
  | 'quit';

/** An act that ends in a decision. */
export type DecidingAct = Exclude<ReviewAct, 'next' | 'back' | 'quit' | 'show'>;

const MOVES: readonly KeyChoice<ReviewAct>[] = [
  { means: 'next', keys: ['n', 'next', 's', 'skip'], does: 'go on; it stays undecided' },
  { means: 'back', keys: ['b', 'back'], does: 'go back to the one before' },
  { means: 'show', keys: ['v', 'view'], does: 'show it once more' },
  { means: 'quit', keys: ['q', 'quit'], does: 'leave; what is undecided stays' },
];

const REQUEST: readonly KeyChoice<ReviewAct>[] = [
  { means: 'approve', keys: ['a', 'approve'], does: 'let it run as it is' },
  { means: 'edit', keys: ['e', 'edit'], does: 'change the arguments in your editor' },
  { means: 'deny', keys: ['d', 'deny'], does: 'keep it from running, and say why and what instead' },
];

const HUNKS: readonly KeyChoice<ReviewAct>[] = [
  { means: 'hunks', keys: ['p', 'patch', 'hunks'], does: 'be asked about its hunks one by one' },
];

const QUESTION: readonly KeyChoice<ReviewAct>[] = [
  { means: 'answer', keys: ['a', 'answer'], does: 'fill in what it asks for' },
  { means: 'decline', keys: ['d', 'decline'], does: 'do not answer, with a reason' },
];

const DOUBT: readonly KeyChoice<ReviewAct>[] = [
  { means: 'happened', keys: ['h', 'happened'], does: 'it happened: the turn goes on with what it returned' },
  { means: 'did-not', keys: ['x', 'did-not'], does: 'it did not happen; the model reads that' },
  { means: 'run-again', keys: ['r', 'run-again'], does: 'start it once more: a new decision' },
];

/** The keys for one item. `moves`: the ways to leave the item without a decision. By default these are all ways. */
export function choicesFor(
  kind: InboxItem['kind'],
  hunks: readonly Hunk[],
  moves?: readonly ReviewAct[],
): readonly KeyChoice<ReviewAct>[] {
  const ways = moves === undefined ? MOVES : MOVES.filter(({ means }) => moves.includes(means));
  if (kind === 'in_doubt') return [...DOUBT, ...ways];
  if (kind === 'question') return [...QUESTION, ...ways];
  return [...REQUEST, ...(hunks.length > 1 ? HUNKS : []), ...ways];
}

/**
 * Asks for everything that an act still needs, and decides. A single key never lets a call run: a second question
 * confirms each yes.
 *
 * @throws CountersignError `failed`, and the errors of the decision. Interrupted.
 */
export function decideAs(act: DecidingAct, subject: Subject, terminal: Terminal): Promise<Answer> {
  switch (act) {
    case 'approve':
      return approve(subject, terminal);
    case 'edit':
      return decideByEditor(subject, { terminal, yes: false });
    case 'hunks':
      return decideByHunks(subject, terminal);
    case 'deny':
      return deny(subject, terminal);
    case 'answer':
      return answerByForm(subject, terminal);
    case 'decline':
      return declineAnswer(subject, terminal);
    default:
      return resolve(act, subject, terminal);
  }
}

async function approve(subject: Subject, terminal: Terminal): Promise<Answer> {
  const request = requestOf(subject);
  const sure = await confirm(terminal, `Approve ${idOf(subject)} ${request.tool} as it is?`);
  if (!sure || !(await confirmDeceptiveText(request, terminal))) throw givenUp('you did not confirm');
  return decide(subject, { decision: 'approved' });
}

async function deny(subject: Subject, terminal: Terminal): Promise<Answer> {
  const reason = await askUntilAnswered(terminal, 'Why not? The model reads it: ');
  const suggestion = (await terminal.ask('What instead? (Enter: nothing) ')).trim() || undefined;
  return decide(subject, { decision: 'denied', reason, suggestion });
}

async function resolve(resolution: ResolutionKind, subject: Subject, terminal: Terminal): Promise<Answer> {
  const { client, turn, call, said } = subject;
  const reason = await askUntilAnswered(terminal, 'How do you know? The model reads it: ');
  const returned =
    resolution === 'happened' ? await terminal.ask('What did it return? (Enter: nobody knows) ') : '';
  if (!(await confirm(terminal, QUESTIONS[resolution]))) throw givenUp('you did not confirm');
  const signed = await signingResolution(subject, resolution, reason);
  return client.resolve(turn, {
    callId: call.callId,
    resolution,
    reason,
    approver: said.approver,
    channel: 'cli',
    ...doubtKeys(call),
    ...signed,
    content: returned.trim() === '' ? undefined : returned,
  });
}

const QUESTIONS: Readonly<Record<ResolutionKind, string>> = {
  happened: 'Go on as if it happened, once?',
  'did-not': 'Go on as if it did not happen?',
  'run-again': 'Start it once more?',
};
