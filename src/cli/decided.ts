import type { DecidedAnswer, DecidedCall } from '../client/decided';
import { escapeText } from '../contract/text/escape';
import { dateTime } from '../contract/text/times';
import { describePhase, hunksText } from '../history/labels';
import type { Context } from './context';
import { type InboxFilters, readCount, refuseOptions } from './flags';
import type { Screen } from './print/screen';
import { type Cell, labelCell, tableLines } from './print/table';

/** Prints what a person decided, and how it ended. `--limit` counts turns. */
export async function listDecided(
  { tool, agent, limit, decided: _, ...others }: InboxFilters & { decided?: boolean },
  { withClient, screen, as, print }: Context,
): Promise<void> {
  refuseOptions(others, 'and --decided exclude each other');
  const { readDecided } = await import('../client/decided.js');
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
