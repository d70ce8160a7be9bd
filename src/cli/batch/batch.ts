import type { Answer, Countersign, InboxItem, InboxQuery } from '../../client';
import { CountersignError } from '../../contract/errors';
import type { CallView } from '../../history/view';
import { assertTaken } from '../answer';
import type { Context } from '../context';
import { decide, givenUp } from '../decide/subject';
import { planLines, resultLine } from '../print/batch';
import { beside } from '../print/screen';
import { confirm } from '../terminal/ask';
import { withTerminal } from '../terminal/terminal';
import { planBatch, type BatchWish, type Candidate, type Planned } from './plan';

/** A batch to decide. */
export interface Batch {
  query: InboxQuery;
  wish: BatchWish;
  said: { approver: string; reason?: string };
  /** Decide without being asked. */
  yes: boolean;
  json: boolean;
}

/** What became of one request of a batch. */
export interface BatchResult {
  turn: string;
  callId: string;
  tool: string;
  answer: Answer;
}

/** How many turns are read from the record at once. */
const AT_ONCE = 8;

/**
 * Shows what would be decided, asks once, and decides one by one.
 *
 * @throws CountersignError `given_up` where the person says no; `decision_refused` where the turns refused some.
 */
export async function decideBatch(batch: Batch, context: Context): Promise<void> {
  const screen = batch.json ? beside(context.screen) : context.screen;
  await context.withDesk(async (desk) => {
    const items = await desk.inbox(batch.query);
    const plan = planBatch(await readCalls(desk, items), batch.wish);
    screen.lines(planLines(plan, batch.wish, screen));
    if (plan.planned.length === 0) return batch.json ? context.screen.json([]) : undefined;
    if (!batch.yes) await askOnce(plan.planned.length, batch, context);
    const results: BatchResult[] = [];
    try {
      for (const planned of plan.planned) {
        const result = await decideOne(desk, planned, { batch, context });
        results.push(result);
        screen.line(resultLine(result, screen.style));
      }
    } finally {
      // What is decided is told, even where the server goes away in the middle.
      if (batch.json) context.screen.json(results);
    }
    conclude(results);
  });
}

async function askOnce(count: number, { wish }: Batch, { keyboard }: Context): Promise<void> {
  const word = wish.decision === 'approved' ? 'Approve' : 'Deny';
  const hint = 'Say --yes to decide without being asked.';
  const sure = await withTerminal(keyboard, hint, (terminal) =>
    confirm(terminal, `${word} ${count === 1 ? 'this one' : `these ${count}`}?`),
  );
  if (!sure) throw givenUp('you did not confirm');
}

async function decideOne(
  desk: Countersign,
  { item, call }: Planned,
  { batch, context }: { batch: Batch; context: Context },
): Promise<BatchResult> {
  const { turn, callId, tool } = item;
  const { decision } = batch.wish;
  const answer = await decide({ desk, turn, call, said: batch.said, context }, { decision });
  return { turn, callId, tool, answer };
}

/** @throws CountersignError `decision_refused`, naming how many were. */
function conclude(results: readonly BatchResult[]): void {
  const refused = results.filter(({ answer }) => answer.status === 'refused');
  const [first] = refused;
  if (first === undefined) return;
  if (results.length === 1) return assertTaken(first.answer, `${first.turn}/${first.callId}`);
  const message = `${refused.length} of ${results.length} were refused; the others are decided`;
  throw new CountersignError('decision_refused', message, {
    hint: 'What was refused is named above; countersign inbox tells what still waits.',
    data: { refused: refused.map(({ turn, callId }) => `${turn}/${callId}`) },
  });
}

async function readCalls(desk: Countersign, items: readonly InboxItem[]): Promise<Candidate[]> {
  const turns = [...new Set(items.filter(({ kind }) => kind === 'request').map(({ turn }) => turn))];
  const calls = new Map<string, readonly CallView[]>();
  for (let at = 0; at < turns.length; at += AT_ONCE) {
    const some = turns.slice(at, at + AT_ONCE);
    const views = await Promise.all(some.map((turn) => desk.view(turn)));
    views.forEach((view, index) => calls.set(some[index] ?? '', view.calls));
  }
  return items.map((item) => ({
    item,
    call: calls.get(item.turn)?.find(({ callId }) => callId === item.callId),
  }));
}
