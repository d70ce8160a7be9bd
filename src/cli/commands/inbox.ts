import type { Command } from 'commander';
import type { Context } from '../context';
import { addMineOption, type MineOptions, readMine } from '../mine';
import { addInboxFilters, type InboxFilters, readInboxQuery, readCount, refuseOptions } from '../flags';
import { changeLine, inboxLines } from '../print/inbox';
import type { InboxItem, InboxQuery } from '../../client';
import { changesBetween, type InboxLook, watchInbox } from '../../client/inbox/live';
import { idsOn, type Cell, labelCell, tableLines } from '../print/table';
import { takeStopSignals } from '../stop-signals';
import { type KnownPauses, NOTHING_PAUSED, notePauses, watchPauses } from './pause';
import type { DecidedAnswer, DecidedCall } from '../../client/decided';
import { escapeText } from '../../contract/text/escape';
import { dateTime } from '../../contract/text/times';
import { describePhase, hunksText } from '../../history/labels';
import type { Screen } from '../print/screen';

interface InboxOptions extends InboxFilters, MineOptions {
  watch?: boolean;
  decided?: boolean;
}

/** `inbox`. */
export function addInbox(program: Command, context: Context): void {
  const command = program
    .command('inbox')
    .description('list what waits for a person: calls in doubt, then the earliest deadline')
    .option('-w, --watch', 'keep watching, and show what changes, until Ctrl-C')
    .option(
      '--decided',
      'instead: what you decided, newest first, and how it ended; --limit counts turns (200)',
    );
  addMineOption(addInboxFilters(command)).action((options: InboxOptions) => inbox(options, context));
}

async function inbox(options: InboxOptions, context: Context) {
  if (options.decided === true) return listDecided(options, context);
  const query = readInboxQuery(options);
  const mine = await readMine(options, context);
  if (options.watch === true) return watchInboxHere({ query, mine }, context);
  const { limit = MOST_SHOWN, ...narrow } = query;
  const { screen, json } = context;
  await context.withClient(async (client) => {
    if (!json) await notePauses(client, screen);
    const filter = { ...narrow, ...mine };
    const items = await client.inbox({ ...filter, limit });
    // If fewer items arrive than the limit allows, they are all items of the inbox.
    const count = items.length < limit ? items.length : await client.countWaiting(filter);
    if (json) return screen.json(items);
    const ids = await idsOn(
      screen,
      client,
      items.map(({ turn }) => turn),
    );
    screen.lines(inboxLines(items, context, Date.now(), ids));
    if (count === items.length) return;
    const more = `${(count - items.length).toLocaleString('en')} more: ${context.command(`inbox --limit ${count}`)}`;
    screen.note(`${more} lists all; --tool, --agent and --older-than narrow it down`);
  });
}

/** The most lines that are shown unless `--limit` says otherwise. */
const MOST_SHOWN = 100;

/** The part of the inbox to watch, and how to print it. */
interface InboxWatch {
  query: InboxQuery;
  mine: Awaited<ReturnType<typeof readMine>>;
}

/** Watches the inbox until Ctrl-C. */
async function watchInboxHere({ query, mine }: InboxWatch, context: Context) {
  const { json } = context;
  const { limit, ...narrow } = query;
  const stop = takeStopSignals(() => undefined);
  const show = printChanges(limit, context);
  try {
    await context.withClient(async (client) => {
      const pauses = json ? async () => NOTHING_PAUSED : watchPauses(client);
      const filter = { ...narrow, ...mine };
      for await (const look of watchInbox(client, filter, stop.signal)) show(look, await pauses());
    });
  } finally {
    stop.release();
  }
}

/** Prints a line for each change. Items that wait at the beginning count as new. */
function printChanges(
  limit: number | undefined,
  { screen, json }: Context,
): (look: InboxLook, paused: KnownPauses) => void {
  let before: readonly InboxItem[] = [];
  let isAway = false;
  let noted = '';
  return (look, paused) => {
    if (paused.key !== noted) {
      const lines = paused.key === '' ? ['nothing is paused any more'] : paused.lines(Date.now());
      for (const line of lines) screen.note(screen.style.warn(line));
      noted = paused.key;
    }
    if ('away' in look !== isAway)
      screen.note(isAway ? 'the server is back' : `${'away' in look ? look.away : ''}; trying again`);
    isAway = 'away' in look;
    if ('away' in look) return;
    const at = new Date().toISOString();
    const after = look.items.slice(0, limit);
    for (const change of changesBetween(before, after)) {
      if (json) screen.jsonLine({ at, ...change });
      else screen.line(changeLine(change, at, screen));
    }
    before = after;
  };
}

/** Prints what a person decided, and how it ended. `--limit` counts turns. */
async function listDecided(
  { tool, agent, limit, decided: _, ...others }: InboxFilters & { decided?: boolean },
  { withClient, screen, as, print }: Context,
) {
  refuseOptions(others, 'and --decided exclude each other');
  const { readDecided } = await import('../../client/decided.js');
  const turns = limit === undefined ? undefined : readCount(limit, '--limit');
  const answer = await withClient((client) => readDecided(client, { approver: as, agent, tool, turns }));
  print(answer, () => decidedLines(answer, as, screen));
}

/** The decisions of a person as a table, and the number of turns that were searched. */
export function decidedLines({ calls, looked, isCut }: DecidedAnswer, who: string, screen: Screen): string[] {
  const where = isCut ? `the newest ${looked} turns; --limit looks at more` : `all ${looked} turns`;
  if (calls.length === 0) return [`${escapeText(who)} decided nothing in ${where}.`];
  const head = ['CALL', 'DECIDED', 'WHEN', 'OUTCOME', 'WHAT'];
  const rows = calls.map((one) => decidedRow(one, screen));
  return [...tableLines({ head, rows, flex: 4 }, screen), '', screen.style.quiet(`In ${where}.`)];
}

function decidedRow(one: DecidedCall, { style }: Screen): (Cell | string)[] {
  const { turn, callId, what, hunks, at, message, summary } = one;
  const why = message === undefined ? '' : ` (${message})`;
  return [
    escapeText(`${turn}/${callId}`),
    escapeText(`${what}${hunksText(hunks)}`),
    dateTime(at),
    labelCell(describePhase(one), style),
    escapeText(`${summary}${why}`),
  ];
}
