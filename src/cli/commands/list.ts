import { Option, type Command } from 'commander';
import type { ListQuery, TurnSummary } from '../../client';
import { TURN_STATES } from '../../contract/turn';
import { defined } from '../../history/defined';
import type { Context } from '../context';
import type { Screen } from '../print/screen';
import { stateCell } from '../print/state';
import { tableLines, type Cell } from '../print/table';
import { relative } from '../../contract/times';
import { visible } from '../print/visible';
import { readCount } from '../read-value';

interface ListOptions {
  state?: TurnSummary['state'];
  agent?: string;
  limit?: string;
  json?: boolean;
}

/** `list`. */
export function addList(program: Command, context: Context): void {
  program
    .command('list')
    .description('list turns, newest first')
    .addOption(
      new Option('--state <state>', 'only turns in this state').choices([
        ...TURN_STATES,
        'terminated',
        'timed_out',
      ]),
    )
    .option('--agent <name>', 'only turns of this agent')
    .option('--limit <count>', 'at most so many (default: 50)')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(options, context));
}

async function list(
  { state, agent, limit, json }: ListOptions,
  { withDesk, screen }: Context,
): Promise<void> {
  const count = limit === undefined ? undefined : readCount(limit, '--limit');
  const query: ListQuery = defined({ state, agent, limit: count });
  const turns = await withDesk((desk) => desk.list(query));
  if (json === true) screen.json(turns);
  else screen.lines(listLines(turns, screen, Date.now()));
}

/** Turns as a table. */
export function listLines(turns: readonly TurnSummary[], screen: Screen, now: number): string[] {
  if (turns.length === 0) return ['There are no turns.'];
  const table = {
    head: ['TURN', 'STATE', 'AGENT', 'STARTED', 'ASKED'],
    rows: turns.map((turn) => row(turn, screen, now)),
    flex: 4,
  };
  return tableLines(table, { width: screen.width, quiet: screen.style.quiet });
}

function row(
  { turn, state, pending, agent, startedAt, prompt }: TurnSummary,
  screen: Screen,
  now: number,
): Cell[] {
  const cell = stateCell(state, screen.style);
  return [
    { text: visible(turn) },
    { ...cell, text: pending > 0 ? `${cell.text} (${pending})` : cell.text },
    { text: visible(agent) },
    { text: relative(startedAt, now) },
    { text: visible(prompt) },
  ];
}
