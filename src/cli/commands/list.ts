import { type Command, Option } from 'commander';
import type { ListQuery, TurnSummary } from '../../client';
import { TURN_STATES } from '../../contract/turn';
import { defined } from '../../contract/defined';
import type { Context } from '../context';
import type { Screen } from '../print/screen';
import { type Cell, idsOn, stateCell, tableLines } from '../print/table';
import { relative } from '../../contract/text/times';
import { escapeProse, escapeText } from '../print/escape';
import { collect, readCount, readFacts } from '../options';

interface ListOptions {
  state?: TurnSummary['state'];
  agent?: string;
  meta?: string[];
  limit?: string;
  json?: boolean;
}

const STATES = [...TURN_STATES, 'terminated', 'timed_out'];

/** `list`. */
export function addList(program: Command, context: Context): void {
  program
    .command('list')
    .description('list turns, newest first')
    .addOption(new Option('--state <state>', 'only turns in this state').choices(STATES))
    .option('--agent <name>', 'only turns of this agent')
    .option('--meta <name=value>', 'only turns started with this fact; repeatable', collect)
    .option('--limit <count>', 'the most turns to list (default: 50)')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(options, context));
}

async function list(options: ListOptions, { withClient, screen }: Context): Promise<void> {
  const { state, agent, meta, limit, json } = options;
  const count = limit === undefined ? undefined : readCount(limit, '--limit');
  const query: ListQuery = defined({ state, agent, metadata: meta && readFacts(meta), limit: count });
  await withClient(async (client) => {
    const turns = await client.list(query);
    if (json === true) return screen.json(turns);
    const ids = await idsOn(
      screen,
      client,
      turns.map(({ turn }) => turn),
    );
    const shown = turns.map((one) => ({ ...one, turn: ids.get(one.turn) ?? one.turn }));
    screen.lines(listLines(shown, screen, Date.now()));
  });
}

/** Turns as a table. */
export function listLines(turns: readonly TurnSummary[], screen: Screen, now: number): string[] {
  if (turns.length === 0) return ['There are no turns.'];
  const head = ['TURN', 'STATE', 'AGENT', 'STARTED', 'ASKED'];
  return tableLines(
    { head, rows: turns.map((turn) => row(turn, screen, now)), flex: 4, drop: [2, 3] },
    screen,
  );
}

function row(summary: TurnSummary, { style }: Screen, now: number): (Cell | string)[] {
  const { turn, state, pending, agent, startedAt, prompt } = summary;
  const cell = stateCell(state, style);
  return [
    escapeText(turn),
    { ...cell, text: pending > 0 ? `${cell.text} (${pending})` : cell.text },
    escapeText(agent),
    relative(startedAt, now),
    escapeProse(prompt),
  ];
}
