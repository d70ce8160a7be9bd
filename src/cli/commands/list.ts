import { type Command, Option } from 'commander';
import type { Countersign, ListQuery, SessionsQuery, SessionSummary, TurnSummary } from '../../client';
import { defined } from '../../contract/defined';
import type { Context } from '../context';
import type { Screen } from '../print/screen';
import { pendingLines } from '../print/turn';
import { type Cell, idsOn, stateCell, tableLines } from '../print/table';
import { relative } from '../../contract/text/times';
import { escapeProse, escapeText } from '../../contract/text/escape';
import { notePauses } from './pause';
import { LISTED_STATES } from '../../contract/turn-states';
import { agentOption, collect, readCount, readFacts, readMoment, refuseOptions, sinceOption } from '../flags';

interface ListOptions {
  state?: TurnSummary['state'];
  agent?: string;
  schedule?: string;
  meta?: string[];
  since?: string;
  limit?: string;
  sessions?: boolean;
}

/** `list`. */
export function addList(program: Command, context: Context): void {
  program
    .command('list')
    .description('list turns, newest first')
    .addOption(new Option('--state <state>', 'only turns in this state').choices(LISTED_STATES))
    .addOption(agentOption())
    .option('--schedule <id>', 'only turns that this schedule started')
    .option('--meta <name=value>', 'only turns started with this fact; repeatable', collect)
    .addOption(sinceOption())
    .option('--sessions', 'list sessions instead of turns')
    .option('--limit <count>', 'the most turns to list (default: 50)')
    .action((options: ListOptions) => list(options, context));
}

async function list(options: ListOptions, context: Context) {
  const { withClient, screen, json, print } = context;
  const { state, agent, schedule, meta, since, limit } = options;
  const count = limit === undefined ? undefined : readCount(limit, '--limit');
  if (options.sessions === true) {
    refuseOptions({ state, meta, schedule, since }, 'and --sessions exclude each other');
    return withClient(async (client) => {
      const sessions = await readSessions(client, { agent, limit: count });
      print(sessions, () => sessionLines(sessions, screen, Date.now()));
    });
  }
  const query: ListQuery = {
    state,
    agent,
    schedule,
    since: readMoment(since, '--since'),
    limit: count,
    metadata: meta && readFacts(meta),
  };
  await withClient(async (client) => {
    if (!json) await notePauses(client, screen);
    const turns = await client.list(query);
    if (json) return screen.json(turns);
    const ids = await idsOn(
      screen,
      client,
      turns.map(({ turn }) => turn),
    );
    const idle = await idleTurns(client, turns);
    const shown = turns.map((one) => ({
      ...one,
      turn: ids.get(one.turn) ?? one.turn,
      isIdle: idle.has(one.turn),
    }));
    screen.lines(listLines(shown, screen, Date.now()));
    const idleQueues = [...new Set([...idle.values()].flat())];
    for (const line of pendingLines({ activities: [], idleQueues }, Date.now()))
      screen.note(screen.style.warn(context.typed(line)));
  });
}

/** The most running turns of which it is asked whether a worker takes their work. */
const LOOKED_AT = 10;

/** The turns that wait for a queue that no worker polls, with the queues. To the server, such a turn is running. */
async function idleTurns(
  client: Countersign,
  turns: readonly TurnSummary[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const running = turns.filter(({ state }) => state === 'running').slice(0, LOOKED_AT);
  const queues = await Promise.all(
    running.map(async ({ turn }) => [turn, (await client.pendingActivities(turn)).idleQueues] as const),
  );
  return new Map(queues.filter(([, idle]) => idle.length > 0));
}

/** Sessions, newest first: as many as asked for, however many pages that takes. */
async function readSessions(client: Countersign, query: SessionsQuery): Promise<SessionSummary[]> {
  const { limit = SESSIONS } = query;
  const found: SessionSummary[] = [];
  let older: string | undefined;
  do {
    const page = await client.sessions({ ...query, limit: limit - found.length, ...defined({ older }) });
    found.push(...page.sessions);
    // A page without a new place would be read again and again.
    older = page.older === older ? undefined : (page.older ?? undefined);
  } while (older !== undefined && found.length < limit);
  return found;
}

/** The most sessions that are listed unless `--limit` says otherwise. */
const SESSIONS = 50;

/** A turn, and whether no worker takes its work. */
type ListedTurn = TurnSummary & { isIdle?: boolean };

/** Turns as a table. */
export function listLines(turns: readonly ListedTurn[], screen: Screen, now: number): string[] {
  if (turns.length === 0) return ['There are no turns.'];
  const head = ['TURN', 'STATE', 'AGENT', 'STARTED', 'ASKED'];
  return tableLines(
    { head, rows: turns.map((turn) => row(turn, screen, now)), flex: 4, drop: [2, 3] },
    screen,
  );
}

function row(summary: ListedTurn, { style }: Screen, now: number): (Cell | string)[] {
  const { turn, state, pending, agent, startedAt, prompt, isIdle } = summary;
  const cell = isIdle === true ? { text: 'no worker', paint: style.warn } : stateCell(state, style);
  return [
    escapeText(turn),
    { ...cell, text: pending > 0 ? `${cell.text} (${pending})` : cell.text },
    escapeText(agent),
    relative(startedAt, now),
    escapeProse(prompt),
  ];
}

/** Sessions as a table. */
function sessionLines(sessions: readonly SessionSummary[], screen: Screen, now: number): string[] {
  if (sessions.length === 0) return ['There are no sessions.'];
  const head = ['SESSION', 'STATE', 'AGENT', 'TURNS', 'STARTED', 'LAST'];
  const rows = sessions.map(({ session, state, agent, turns, waiting, startedAt, text }) => [
    escapeText(session),
    waiting > 0 ? `${state} (${waiting} waiting)` : state,
    escapeText(agent),
    String(turns),
    relative(startedAt, now),
    escapeProse(text),
  ]);
  return tableLines({ head, rows, flex: 5, drop: [2, 4] }, screen);
}
