import type { Countersign, InboxItem, InboxQuery } from '../../client';
import type { CallView } from '../../history/view';
import { CountersignError } from '../../contract/errors';
import { reportAnswer } from '../answer';
import type { Context } from '../context';
import { idOf, type Subject } from '../decide/subject';
import { insist } from '../live/insist';
import { itemKey } from '../live/item-key';
import { callLines, storyOf } from '../print/turn';
import { visibleLines } from '../print/visible';
import { choose } from '../terminal/ask';
import { Interrupted, type Terminal } from '../terminal/terminal';
import { decideAs } from './acts';
import { choicesFor, type ReviewAct } from './keys';
import { currentItem, goBack, goNext, refreshQueue, startQueue, type Queue } from './queue';

/** What a review goes through, and with what. */
export interface Review {
  desk: Pick<Countersign, 'inbox' | 'view' | 'decide' | 'resolve'>;
  query: InboxQuery;
  approver: string;
  context: Context;
  terminal: Terminal;
}

/**
 * Goes through the inbox one by one: shows each, asks, decides, and takes up what comes in meanwhile. Ends at the end of
 * the queue, or when the person leaves; what is undecided stays.
 *
 * @throws Interrupted when the person leaves by Ctrl-C.
 */
export async function reviewInbox(review: Review): Promise<void> {
  const { screen } = review.context;
  const done = new Set<string>();
  let decided = 0;
  let queue = startQueue(await list(review, done));
  for (;;) {
    const item = currentItem(queue);
    if (item === undefined) break;
    const act = await reviewOne(review, item, queue);
    if (act === 'quit') break;
    if (act === 'decided') decided++;
    if (act === 'decided' || act === 'gone') done.add(itemKey(item));
    if (act === 'next') queue = goNext(queue);
    if (act === 'back') queue = goBack(queue);
    queue = await refreshed(review, queue, done);
  }
  screen.line(endLine(decided, queue));
}

/** What waits, without what was decided here: the list may lag behind, and a decision may wait for a worker. */
async function list(review: Review, done: ReadonlySet<string>): Promise<InboxItem[]> {
  const items = await ask(review, () => review.desk.inbox(review.query));
  return items.filter((item) => !done.has(itemKey(item)));
}

function endLine(decided: number, { items }: Queue): string {
  if (decided === 0 && items.length === 0) return 'Nothing waits for a person.';
  return `${decided} decided; ${items.length === 0 ? 'nothing' : items.length} left undecided.`;
}

async function refreshed(review: Review, queue: Queue, done: ReadonlySet<string>): Promise<Queue> {
  const { screen } = review.context;
  const next = refreshQueue(queue, await list(review, done));
  if (next.fresh > 0) screen.line(screen.style.quiet(`${next.fresh} new`));
  return next;
}

/** Where to go from an item: it is decided here, gone already, changed and asks again, or it stays undecided. */
type Way = 'decided' | 'gone' | 'asks again' | 'next' | 'back' | 'quit';

async function reviewOne(review: Review, item: InboxItem, queue: Queue): Promise<Way> {
  const { screen } = review.context;
  for (;;) {
    const call = await look(review, item, queue);
    if (call === undefined) return 'gone';
    const act = await askAct(review, item, call);
    if (act === 'next' || act === 'back' || act === 'quit') return act;
    const way = act === 'show' ? 'stays' : await carryOut(review, { item, call, act });
    if (way !== 'stays') return way;
    screen.line();
  }
}

/** Shows an item; undefined where it does not wait any more. */
async function look(review: Review, item: InboxItem, { at, items }: Queue): Promise<CallView | undefined> {
  const { screen } = review.context;
  const { turn, callId } = item;
  const view = await ask(review, () => review.desk.view(turn));
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined || !waits(call, item)) {
    screen.line(screen.style.quiet(`${turn}/${callId} does not wait any more`));
    return undefined;
  }
  const story = storyOf(view, call);
  screen.lines([
    '',
    screen.style.strong(`${at + 1} of ${items.length}`),
    ...callLines(call, { turn, screen, now: Date.now(), story }),
    '',
  ]);
  return call;
}

function waits({ phase, request, doubt }: CallView, { kind, callKey }: InboxItem): boolean {
  if (kind === 'in_doubt') return phase === 'in_doubt' && doubt?.callKey === callKey;
  return phase === 'requested' && request?.callKey === callKey;
}

function askAct(
  { terminal, context: { screen } }: Review,
  item: InboxItem,
  call: CallView,
): Promise<ReviewAct> {
  const choices = choicesFor(item.kind, call.request?.preview?.plan?.hunks ?? []);
  const tell = (lines: readonly string[]): void => screen.lines(lines);
  return choose(terminal, item.kind === 'in_doubt' ? 'What became of it' : 'Your decision', {
    choices,
    tell,
  });
}

interface Wanted {
  item: InboxItem;
  call: CallView;
  act: Exclude<ReviewAct, 'next' | 'back' | 'quit' | 'show'>;
}

/** Does what was asked for. `stays` where the person gave it up, or the turn refused it: it is looked at again. */
async function carryOut(review: Review, { item, call, act }: Wanted): Promise<Way | 'stays'> {
  const { approver, context, terminal } = review;
  const subject: Subject = { desk: patient(review), turn: item.turn, call, said: { approver }, context };
  try {
    const answer = await decideAs(act, subject, terminal);
    reportAnswer(answer, { id: idOf(subject), json: false }, context.screen);
    return answer.status === 'accepted' && answer.verdict.asksAgain === true ? 'asks again' : 'decided';
  } catch (error) {
    if (!(error instanceof CountersignError) || !PASSING.includes(error.code)) throw error;
    const told = [error.message, ...(error.hint === undefined ? [] : [error.hint])];
    context.screen.lines(told.flatMap((text) => visibleLines(text, context.screen.style.mark)));
    return 'stays';
  }
}

/** What ends one act and not the review. */
const PASSING: readonly CountersignError['code'][] = [
  'given_up',
  'editor_failed',
  'decision_refused',
  'usage',
];

/** A desk that waits for a server that is away: what was typed is kept, and each decision has one id however often it is sent. */
function patient(review: Review): Subject['desk'] {
  const { desk } = review;
  return {
    decide: (turn, decision) => ask(review, () => desk.decide(turn, decision)),
    resolve: (turn, resolution) => ask(review, () => desk.resolve(turn, resolution)),
  };
}

async function ask<T>({ terminal, context: { screen } }: Review, question: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const tell = (text: string): void => screen.note(screen.style.quiet(text));
  try {
    return await terminal.meanwhile(insist(question, { tell, signal: stop.signal }));
  } catch (error) {
    if (error instanceof Interrupted) stop.abort();
    throw error;
  }
}
