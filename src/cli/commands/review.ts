import type { Command } from 'commander';
import { addMineOption, type MineOptions, readMine } from '../mine';
import { addInboxFilters, type InboxFilters, readInboxQuery } from '../flags';
import type { Context } from '../context';
import { choose, askUntilAnswered, type KeyChoice, confirm } from '../review/confirm';
import { Interrupted, type Terminal, withTerminal } from '../review/terminal';
import type { Countersign, InboxItem, InboxQuery, Answer } from '../../client';
import { type CallView, type TurnView, waitingEvent } from '../../history/view-types';
import { CountersignError } from '../../contract/errors';
import { reportAnswer } from '../answer';
import { changedIn, rememberPrinted, confirmDeceptiveText } from '../review/seen';
import {
  idOf,
  type Subject,
  decide,
  givenUp,
  doubtKeys,
  requestOf,
  signingResolution,
} from '../review/decision';
import { itemKey, retryWhileUnavailable } from '../../client/inbox/live';
import { callLines, storyOf } from '../print/turn';
import { escapeLines, escapeText } from '../../contract/text/escape';
import { addSignOption, type Sign, signerOf, type SignOptions } from '../review/sign';
import type { ResolutionKind } from '../../contract/decision';
import { answerByForm, declineAnswer } from './answer';
import { decideByEditor } from '../review/edit-arguments';
import { decideByHunks } from '../review/hunks';
import type { Hunk } from '../../contract/plan';

interface ReviewOptions extends InboxFilters, MineOptions, SignOptions {}

/** `review`. */
export function addReview(program: Command, context: Context): void {
  const command = program
    .command('review')
    .description('go through the inbox one by one: look, decide, go on');
  addMineOption(addInboxFilters(addSignOption(command))).action((options: ReviewOptions) =>
    review(options, context),
  );
}

async function review(options: ReviewOptions, context: Context) {
  const asked = readInboxQuery(options);
  const mine = await readMine(options, context);
  const hint = 'Use `countersign inbox --json` with `countersign approve` and `deny` in scripts.';
  await withTerminal(context.keyboard, hint, (terminal) =>
    context.withClient(async (client) => {
      const { as } = context;
      const { approver = as, sign } = (await signerOf(options, as, { client, context })) ?? {};
      const query = { ...asked, ...mine };
      await reviewInbox({ client, query, approver, context, terminal, sign });
    }),
  );
}

/** The person who looks at waiting calls and decides them, with everything that is needed for this. */
interface Reviewing {
  client: Pick<Countersign, 'view' | 'answer' | 'decide' | 'resolve' | 'changedTools'>;
  approver: string;
  /** Signs decisions on calls for which a rule says which people decide. Absent: the person does not sign. */
  sign?: Sign;
  context: Context;
  terminal: Terminal;
}

/** A review of the inbox, and the query for its items. */
interface Review extends Reviewing {
  client: Reviewing['client'] & Pick<Countersign, 'inbox'>;
  query: InboxQuery;
}

/** One call that waits for a person. */
export type WaitingCall = Pick<InboxItem, 'turn' | 'agent' | 'callId' | 'callKey' | 'kind'>;

type Opened = TurnView['requests' | 'questions' | 'inDoubt'][number];

const KINDS = { request_opened: 'request', question_opened: 'question', in_doubt: 'in_doubt' } as const;

/** The call that waits since an event. */
export function waitingCall(
  { type, callId, callKey }: Pick<Opened, 'type' | 'callId' | 'callKey'>,
  { turn, agent }: Pick<WaitingCall, 'turn' | 'agent'>,
): WaitingCall {
  return { turn, agent, callId, callKey, kind: KINDS[type] };
}

/** How a call is presented: the line above it, and the ways to leave it without a decision. */
interface Presented {
  heading: string;
  moves?: readonly ReviewAct[];
}

/**
 * Goes through the inbox one by one: shows each item, asks, decides, and adds items that arrive meanwhile. Ends at the
 * end of the queue, or when the person leaves. Undecided items stay.
 *
 * @throws Interrupted when the person leaves by Ctrl-C.
 */
async function reviewInbox(review: Review) {
  const { screen } = review.context;
  const done = new Set<string>();
  let decided = 0;
  let queue: Queue = { items: await list(review, done), at: 0 };
  for (;;) {
    const item = queue.items[queue.at];
    if (item === undefined) break;
    const heading = `${queue.at + 1} of ${queue.items.length}`;
    const act = await reviewOne(review, item, { heading });
    if (act === 'quit') break;
    if (act === 'decided') decided++;
    if (act === 'decided' || act === 'gone') done.add(itemKey(item));
    if (act === 'next') queue = moved(queue, 1);
    if (act === 'back') queue = moved(queue, -1);
    queue = await refreshed(review, queue, done);
  }
  const left = queue.items.length === 0 ? 'nothing' : queue.items.length;
  const isEmpty = decided === 0 && left === 'nothing';
  screen.line(isEmpty ? 'Nothing waits for a person.' : `${decided} decided; ${left} left undecided.`);
}

/**
 * The waiting items, without the items that were decided here. The list may be outdated, and a decision may wait for a
 * worker.
 */
async function list(review: Review, done: ReadonlySet<string>): Promise<InboxItem[]> {
  const items = await ask(review, () => review.client.inbox(review.query));
  return items.filter((item) => !done.has(itemKey(item)));
}

async function refreshed(review: Review, queue: Queue, done: ReadonlySet<string>): Promise<Queue> {
  const { screen } = review.context;
  const next = refreshQueue(queue, await list(review, done));
  if (next.fresh > 0) screen.line(screen.style.quiet(`${next.fresh} new`));
  return next;
}

/**
 * The result of looking at an item: it is decided here, already gone, changed and asked about again, or it stays
 * undecided.
 */
type ReviewEnd = 'decided' | 'gone' | 'asks again' | 'next' | 'back' | 'quit';

/**
 * Shows one call and asks until it is decided, gone, or left.
 *
 * @throws Interrupted when the person leaves by Ctrl-C.
 */
export async function reviewOne(
  review: Reviewing,
  item: WaitingCall,
  { heading, moves }: Presented,
): Promise<ReviewEnd> {
  const { screen } = review.context;
  for (;;) {
    const call = await look(review, item, heading);
    if (call === undefined) return 'gone';
    const act = await askAct(review, item, { call, moves });
    if (act === 'next' || act === 'back' || act === 'quit') return act;
    const way = act === 'show' ? 'stays' : await carryOut(review, item, call, act);
    if (way !== 'stays') return way;
    screen.line();
  }
}

/** Shows an item. Undefined if it no longer waits. */
async function look(review: Reviewing, item: WaitingCall, heading: string): Promise<CallView | undefined> {
  const { screen } = review.context;
  const { turn, callId } = item;
  const view = await ask(review, () => review.client.view(turn));
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined || !waits(call, item)) {
    screen.line(screen.style.quiet(`${escapeText(`${turn}/${callId}`)} does not wait any more`));
    return undefined;
  }
  const story = storyOf(view, call);
  const changed = await ask(review, () => changedIn(review.client, view));
  screen.lines([
    '',
    screen.style.strong(heading),
    ...callLines(call, { turn, screen, now: Date.now(), story, ...changed }),
    '',
  ]);
  await rememberPrinted(call, review.context);
  return call;
}

function waits(call: CallView, item: WaitingCall) {
  const open = waitingEvent(call);
  if (open === undefined) return false;
  const { kind, callKey } = waitingCall(open, item);
  return kind === item.kind && callKey === item.callKey;
}

const PROMPTS: Readonly<Record<InboxItem['kind'], string>> = {
  request: 'Your decision',
  question: 'Your answer',
  in_doubt: 'How it ended',
};

function askAct(
  { terminal, context: { screen } }: Reviewing,
  item: WaitingCall,
  { call, moves }: { call: CallView; moves: Presented['moves'] },
): Promise<ReviewAct> {
  const choices = choicesFor(item.kind, call.request?.preview?.plan?.hunks ?? [], moves);
  return choose(terminal, PROMPTS[item.kind], choices, screen);
}

/** Carries out an act. `stays`: the person gave up or the turn refused the act, so the item is looked at again. */
async function carryOut(
  review: Reviewing,
  { turn, agent }: WaitingCall,
  call: CallView,
  act: DecidingAct,
): Promise<ReviewEnd | 'stays'> {
  const { approver, context, terminal } = review;
  // Nobody would check a signature on any other call.
  const sign = call.request?.authority && review.sign;
  const about = { client: patient(review), turn, agent, call, context, sign };
  try {
    const subject: Subject = { ...about, said: { approver } };
    const answer = await decideAs(act, subject, terminal);
    reportAnswer(answer, { id: idOf(subject), json: false }, context.screen);
    return answer.status === 'accepted' && answer.verdict.asksAgain === true ? 'asks again' : 'decided';
  } catch (error) {
    if (!(error instanceof CountersignError) || !PASSING.includes(error.code)) throw error;
    const text = [error.message, error.hint].filter((one) => one !== undefined).join('\n');
    context.screen.lines(escapeLines(text, context.screen.style.mark));
    return 'stays';
  }
}

/** Errors that end one act but not the review. */
const PASSING: readonly CountersignError['code'][] = ['failed', 'refused', 'signature_needed', 'usage'];

/**
 * A client that waits while the server is away, so that typed text is kept. Each decision has one id, however often it
 * is sent.
 */
function patient(review: Reviewing): Subject['client'] {
  const { client } = review;
  return {
    answer: (turn, answer) => ask(review, () => client.answer(turn, answer)),
    decide: (turn, decision) => ask(review, () => client.decide(turn, decision)),
    resolve: (turn, resolution) => ask(review, () => client.resolve(turn, resolution)),
    view: (turn) => ask(review, () => client.view(turn)),
  };
}

async function ask<T>({ terminal, context: { screen } }: Reviewing, question: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const note = (text: string) => screen.note(screen.style.quiet(text));
  try {
    return await terminal.meanwhile(retryWhileUnavailable(question, { note, signal: stop.signal }));
  } catch (error) {
    if (error instanceof Interrupted) stop.abort();
    throw error;
  }
}

/** The inbox as a person goes through it. */
interface Queue {
  readonly items: readonly InboxItem[];
  /** The position of the current item. `items.length` at the end. */
  readonly at: number;
}

/** The queue at a later or earlier item: never before the first one, and at most at the end. */
export function moved({ items, at }: Queue, by: number): Queue {
  return { items, at: Math.max(0, Math.min(items.length, at + by)) };
}

/**
 * Updates the queue with the items that wait now. Items that still wait keep their place, new items are added after
 * them, and decided items are removed. The position stays at the same item, or at the item that followed it.
 */
export function refreshQueue({ items, at }: Queue, now: readonly InboxItem[]): Queue & { fresh: number } {
  const waiting = new Map(now.map((item) => [itemKey(item), item]));
  const known = new Set(items.map(itemKey));
  const still = (some: readonly InboxItem[]) => some.flatMap((item) => waiting.get(itemKey(item)) ?? []);
  const fresh = now.filter((item) => !known.has(itemKey(item)));
  const before = still(items.slice(0, at));
  return { items: [...before, ...still(items.slice(at)), ...fresh], at: before.length, fresh: fresh.length };
}

/** What a person can do with the current item. */
type ReviewAct =
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
type DecidingAct = Exclude<ReviewAct, 'next' | 'back' | 'quit' | 'show'>;

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
function choicesFor(
  kind: InboxItem['kind'],
  hunks: readonly Hunk[],
  moves?: readonly ReviewAct[],
): readonly KeyChoice<ReviewAct>[] {
  const ways = moves ? MOVES.filter(({ means }) => moves.includes(means)) : MOVES;
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
function decideAs(act: DecidingAct, subject: Subject, terminal: Terminal): Promise<Answer> {
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
