import { randomUUID } from 'node:crypto';
import type { Answer, InboxItem } from '../../client';
import type { ResolutionKind } from '../../contract/decision';
import { answerByForm, declineAnswer } from './answer';
import { decideByEditor } from './changed';
import { confirmDeceptiveText } from './seen';
import { decide, givenUp, idOf, doubtKeys, requestOf, signing, type Subject } from './decision';
import { askUntilAnswered, type KeyChoice, choose, confirm } from './confirm';
import type { Terminal } from './terminal';
import { defined } from '../../contract/defined';
import type { Hunk } from '../../contract/plan';
import type { CountersignError } from '../../contract/errors';
import { usageError } from '../options';
import { hunkLines, planHead } from '../print/diff';
import { escapeText } from '../print/escape';

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
  { means: 'deny', keys: ['d', 'deny'], does: 'keep it from running, with a reason' },
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
 * @throws CountersignError `given_up`, and the errors of the decision. Interrupted.
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
  return decide(subject, { decision: 'denied', reason });
}

async function resolve(resolution: ResolutionKind, subject: Subject, terminal: Terminal): Promise<Answer> {
  const { client, turn, call, said } = subject;
  const reason = await askUntilAnswered(terminal, 'How do you know? The model reads it: ');
  const returned =
    resolution === 'happened' ? await terminal.ask('What did it return? (Enter: nobody knows) ') : '';
  if (!(await confirm(terminal, QUESTIONS[resolution]))) throw givenUp('you did not confirm');
  const signed = resolution === 'run-again' ? await signing(subject, resolution, reason) : {};
  return client.resolve(turn, {
    callId: call.callId,
    resolution,
    reason,
    approver: said.approver,
    channel: 'cli',
    decisionId: randomUUID(),
    ...doubtKeys(call),
    ...signed,
    ...defined({ inPlaceOf: said.inPlaceOf, content: returned.trim() === '' ? undefined : returned }),
  });
}

const QUESTIONS: Readonly<Record<ResolutionKind, string>> = {
  happened: 'Go on as if it happened, once?',
  'did-not': 'Go on as if it did not happen?',
  'run-again': 'Start it once more?',
};

/** The keys of `git add -p`. */
const HUNK_CHOICES: readonly KeyChoice<HunkAnswer>[] = [
  { means: 'yes', keys: ['y', 'yes'], does: 'approve this hunk' },
  { means: 'no', keys: ['n', 'no'], does: 'do not approve this hunk' },
  { means: 'all', keys: ['a'], does: 'print all hunks that follow, and approve them with this one' },
  { means: 'done', keys: ['d'], does: 'approve neither this hunk nor any that follow' },
  { means: 'split', keys: ['s'], does: 'say why this hunk cannot be split' },
  { means: 'edit', keys: ['e'], does: 'change the arguments in your editor instead' },
  { means: 'leave', keys: ['q'], does: 'leave; nothing is decided' },
];

const NO_SPLIT = [
  'This hunk cannot be split: a decision names the hunks of the plan that was made, so that what runs is what you saw.',
  'Use e to change the arguments: they come back as a new proposal with hunks of its own.',
];

/**
 * Asks about the hunks of a proposed file change one by one, and decides.
 *
 * @throws CountersignError `usage` for a call without hunks, `given_up`. Interrupted.
 */
export async function decideByHunks(subject: Subject, terminal: Terminal): Promise<Answer> {
  const request = requestOf(subject);
  if (subject.sign !== undefined) throw unsignedHunks();
  const plan = request.preview?.plan;
  if (plan === undefined || plan.hunks.length === 0) throw noHunks(request.callId);
  const { screen } = subject.context;
  const what = escapeText(`${request.tool} for ${subject.agent}, ${idOf(subject)}`);
  screen.lines([screen.style.strong(what), ...planHead(plan, screen.style)]);
  const choice = await chooseHunks(plan.hunks, subject, terminal);
  if (choice === 'leave') throw givenUp('you left before the last hunk');
  if (choice === 'edit') return decideByEditor(subject, { terminal, yes: false });
  return choiceMeans(choice) === 'none'
    ? denyAll(subject, terminal)
    : approveHunks(choice, subject, terminal);
}

async function chooseHunks(
  hunks: readonly Hunk[],
  { context: { screen } }: Subject,
  terminal: Terminal,
): Promise<HunkAnswers | 'edit' | 'leave'> {
  const print = (some: readonly Hunk[]): void => {
    for (const hunk of some) screen.lines(hunkLines(hunk, screen.style));
  };
  let choice = startChoice(hunks.map(({ id }) => id));
  for (;;) {
    const id = currentHunk(choice);
    const hunk = hunks.find((one) => one.id === id);
    if (hunk === undefined) return choice;
    print([hunk]);
    const question = `(${choice.at + 1}/${hunks.length}) Approve this hunk`;
    const answer = await choose(terminal, question, HUNK_CHOICES, screen);
    if (answer === 'edit' || answer === 'leave') return answer;
    if (answer === 'split') screen.lines(NO_SPLIT);
    // We print all remaining hunks, so that a person approves only hunks that were printed.
    if (answer === 'all') print(hunks.slice(choice.at + 1));
    choice = answerHunk(choice, answer);
  }
}

async function approveHunks(choice: HunkAnswers, subject: Subject, terminal: Terminal): Promise<Answer> {
  const { ids, accepted } = choice;
  const all = choiceMeans(choice) === 'all';
  const what = all ? `all ${ids.length} hunks` : `hunks ${accepted.join(', ')} of ${ids.length}`;
  const sure =
    (await confirm(terminal, `Approve ${what}?`)) &&
    (await confirmDeceptiveText(requestOf(subject), terminal));
  if (!sure) throw givenUp('you did not confirm');
  return decide(subject, { decision: 'approved', ...defined({ hunks: all ? undefined : [...accepted] }) });
}

async function denyAll(subject: Subject, terminal: Terminal): Promise<Answer> {
  subject.context.screen.line('You approved none of the hunks. That is a denial.');
  const reason = subject.said.reason ?? (await askUntilAnswered(terminal, 'Why? The model reads it: '));
  return decide(subject, { decision: 'denied', reason });
}

/** The error for signing a choice of hunks: a signature covers the whole call. */
export function unsignedHunks(): CountersignError {
  return usageError(
    '--sign and a choice of hunks exclude each other',
    'A signature is for the whole: edit it, deny it, or approve all.',
  );
}

function noHunks(callId: string): CountersignError {
  const hint = 'Approve or deny it as a whole.';
  return usageError(`${callId} proposes no hunks; --patch is for file proposals`, hint);
}

/**
 * The answer of a person to one hunk of a proposed file change. `leave` decides nothing; `edit` changes the arguments
 * instead.
 */
export type HunkAnswer = 'yes' | 'no' | 'all' | 'done' | 'split' | 'edit' | 'leave';

/** The answers to hunks so far: the hunks before `at` have an answer. */
export interface HunkAnswers {
  readonly ids: readonly string[];
  readonly at: number;
  readonly accepted: readonly string[];
}

/** A choice in which no hunk has an answer yet. */
export function startChoice(ids: readonly string[]): HunkAnswers {
  return { ids, at: 0, accepted: [] };
}

/** The hunk that needs an answer next. Undefined if all hunks have an answer. */
export function currentHunk({ ids, at }: HunkAnswers): string | undefined {
  return ids[at];
}

/** The choice after an answer to its current hunk. `split`, `edit` and `leave` choose nothing. */
export function answerHunk(choice: HunkAnswers, answer: HunkAnswer): HunkAnswers {
  const { ids, at, accepted } = choice;
  switch (answer) {
    case 'yes':
      return { ids, at: at + 1, accepted: [...accepted, ...ids.slice(at, at + 1)] };
    case 'no':
      return { ids, at: at + 1, accepted };
    case 'all':
      return { ids, at: ids.length, accepted: [...accepted, ...ids.slice(at)] };
    case 'done':
      return { ids, at: ids.length, accepted };
    default:
      return choice;
  }
}

/** The meaning of a finished choice: all hunks approve the proposal unchanged, and no hunk is a denial. */
export function choiceMeans({ ids, accepted }: HunkAnswers): 'all' | 'some' | 'none' {
  if (accepted.length === 0) return 'none';
  return accepted.length === ids.length ? 'all' : 'some';
}
