import { type Command, Option } from 'commander';
import type { Countersign, ScheduledTurns, ScheduleSummary } from '../../client';
import { TIMES } from '../../contract/limits';
import { DEFAULT_OVERLAP, OVERLAP_POLICIES, type OverlapPolicy } from '../../client/schedule-types';
import { shellWord } from '../../contract/text/shell-word';
import { dateTime, relative, span } from '../../contract/text/times';
import { counted } from '../../history/labels';
import type { Context } from '../context';
import { addStartOptions, readFacts, readMoment, readText, readTime } from '../flags';
import { escapeProse, escapeText } from '../../contract/text/escape';
import type { Screen } from '../print/screen';
import { type Cell, type TableFact, factLines, section, tableLines } from '../print/table';
import { usageError } from '../../contract/errors';

interface AddOptions {
  cron?: string;
  every?: string;
  timeZone?: string;
  jitter?: string;
  overlap: OverlapPolicy;
  catchUp: string;
  paused?: boolean;
  queue?: string;
  meta?: readonly string[];
}

/** `schedule add`, `schedule list`, `schedule show`, `schedule run`, `schedule pause`, `schedule resume` and `schedule remove`. */
export function addSchedule(program: Command, context: Context): void {
  const schedule = program
    .command('schedule')
    .description('start turns by the clock, with Temporal Schedules');
  const command = (name: string, about: string): Command => schedule.command(name).description(about);
  addAdd(command, context);
  command('list', 'list the schedules, when each starts next, and what it started last').action(() =>
    list(context),
  );
  command('show <id>', 'show a schedule in full, and the times at which it starts a turn')
    .option('--from <time>', 'the first moment (default: now)')
    .option('--to <time>', 'the last moment (default: 7 days after the first)')
    .action((id: string, options: ShowOptions) => show(id, options, context));
  command('run <id>', 'start a turn of it now, also while it is paused or another one is open').action(
    (id: string) => runNow(id, context),
  );
  command('pause <id>', 'start nothing until it is resumed; turns that are open go on')
    .option('--reason <text>', 'why, for those who look at it')
    .action((id: string, { reason }: { reason?: string }) =>
      change(
        id,
        'paused',
        (client) => client.schedules.pause(id, reason ?? `paused by ${context.as}`),
        context,
      ),
    );
  command('resume <id>', 'start turns again; times that passed meanwhile are left out').action((id: string) =>
    change(id, 'resumed', (client) => client.schedules.resume(id, `resumed by ${context.as}`), context),
  );
  command('remove <id>', 'delete it; turns that it started go on').action((id: string) =>
    change(id, 'removed', (client) => client.schedules.remove(id), context),
  );
}

/** The client's own default, as the command line takes a time. */
const CATCH_UP = `${TIMES.scheduleCatchUp / 3_600_000}h`;

function addAdd(command: (name: string, about: string) => Command, context: Context): void {
  const adding = command('add <id> <agent> <prompt>', 'make a schedule; the prompt may be @file, read now')
    .option('--cron <times>', "when, such as '0 8 * * 1-5' or @daily")
    .option('--every <time>', 'how often, such as 90m, counted from 1970: 1h is each hour on the hour')
    .option('--time-zone <name>', 'where the clock of --cron hangs, such as Europe/Berlin (default: here)')
    .option('--jitter <time>', 'start at random, up to this much later (default: 0)')
    .addOption(
      new Option('--overlap <policy>', 'what happens while one of its turns is open')
        .choices(OVERLAP_POLICIES)
        .default(DEFAULT_OVERLAP),
    )
    .option('--catch-up <time>', 'after an outage of the server: how late a turn may start', CATCH_UP)
    .option('--paused', 'start nothing until it is resumed');
  addStartOptions(adding).action((id: string, agent: string, prompt: string, options: AddOptions) =>
    add({ id, agent, prompt, ...options }, context),
  );
}

async function add(
  options: AddOptions & { id: string; agent: string; prompt: string },
  context: Context,
): Promise<void> {
  const { id, agent, cron, every, jitter, catchUp, overlap, paused, queue, meta } = options;
  if ((cron === undefined) === (every === undefined))
    throw usageError('give --cron or --every, one of them', "Such as --cron '0 8 * * 1-5', or --every 1h.");
  const prompt = await readText(options.prompt, 'the prompt', context);
  const timeZone = options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  await context.withClient(async (client) => {
    const made = await client.schedules.add({
      id,
      agent,
      prompt,
      timeZone,
      overlap,
      requester: context.as,
      cron,
      paused,
      taskQueue: queue,
      metadata: meta && readFacts(meta),
      everyMs: every === undefined ? undefined : readTime(every, '--every', 1000),
      jitterMs: jitter === undefined ? undefined : readTime(jitter, '--jitter'),
      catchUpMs: readTime(catchUp, '--catch-up'),
    });
    context.print(made, () => scheduleLines(made, context.screen, Date.now()));
    await noteLacking(client, made, context);
  });
}

/** Notes that no worker has the agent. This is only a note, because a worker may start later. */
async function noteLacking(
  client: Countersign,
  made: ScheduledTurns,
  { screen, typed }: Context,
): Promise<void> {
  const { workersOf } = await import('../../client/pollers.js');
  const queue = { name: made.taskQueue, half: 'turns' } as const;
  const workers = await workersOf(client.client.connection, client.namespace, queue);
  const start = 'start one with `countersign worker`';
  if (workers.length === 0)
    return screen.note(typed(`no worker takes work from the queue ${escapeText(queue.name)}: ${start}`));
  // A worker that has just started has not yet reported its agents.
  if (workers.some(({ agents }) => agents === undefined || agents.includes(made.agent))) return;
  const agent = escapeText(JSON.stringify(made.agent));
  screen.note(typed(`no worker of the queue ${escapeText(queue.name)} has the agent ${agent}: ${start}`));
}

async function list({ withClient, screen, print }: Context): Promise<void> {
  const schedules = await withClient((client) => client.schedules.list());
  print(schedules, () => schedulesLines(schedules, screen, Date.now()));
}

/** Schedules as a table. */
function schedulesLines(schedules: readonly ScheduleSummary[], screen: Screen, now: number): string[] {
  if (schedules.length === 0) return ['There are no schedules.'];
  const head = ['SCHEDULE', 'WHEN', 'ZONE', 'NEXT', 'LAST', 'AGENT', 'ASKS'];
  const rows = schedules.map((one): (Cell | string)[] => [
    escapeText(one.id),
    escapeText(one.when),
    escapeText(one.timeZone),
    nextCell(one, screen, now),
    one.last === undefined ? '' : relative(one.last.at, now),
    escapeText(one.agent),
    escapeProse(one.prompt),
  ]);
  return tableLines({ head, rows, flex: 6, drop: [2, 5, 4] }, screen);
}

function nextCell({ paused, next: [first] }: ScheduleSummary, { style }: Screen, now: number): Cell {
  if (paused) return { text: 'paused', paint: style.warn };
  return { text: first === undefined ? 'never' : relative(first, now) };
}

interface ShowOptions {
  from?: string;
  to?: string;
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

async function show(id: string, { from, to }: ShowOptions, context: Context): Promise<void> {
  const { screen, json, withClient } = context;
  const now = Date.now();
  const first = from === undefined ? new Date(now).toISOString() : readMoment(from, '--from', now);
  const week = new Date(Date.parse(first) + WEEK_MS).toISOString();
  const last = to === undefined ? week : readMoment(to, '--to', now);
  if (last <= first) throw usageError('--to is not after --from');
  const { schedule, times } = await withClient(async (client) => ({
    schedule: await client.schedules.get(id),
    times: await client.schedules.times(id, first, last),
  }));
  if (json) return screen.json({ ...schedule, times });
  const until = `times until ${dateTime(last)}, in your time`;
  screen.lines([
    ...scheduleLines(schedule, screen, now),
    ...section(until, times.length === 0 ? ['none'] : times.map(dateTime), screen),
  ]);
}

/** A schedule in full. */
function scheduleLines(schedule: ScheduledTurns, screen: Screen, now: number): string[] {
  const { id, agent, prompt, when, timeZone, requester, taskQueue, overlap, jitterMs, open } = schedule;
  const { started, skipped, missed, catchUpMs, metadata = {} } = schedule;
  const facts: TableFact[] = [
    ['schedule', { text: escapeText(id), paint: screen.style.strong }],
    ['when', escapeText(`${when} (${timeZone})`)],
    ['next', nextFact(schedule, screen, now)],
    ['agent', escapeText(agent)],
    ['asks', escapeProse(prompt)],
    ['for', requester === undefined ? undefined : escapeText(requester)],
    [
      'facts',
      Object.entries(metadata)
        .map(([name, value]) => escapeText(`${name}=${value}`))
        .join(', ') || undefined,
    ],
    ['task queue', escapeText(taskQueue)],
    ['while one is open', escapeText(overlap)],
    ['jitter', jitterMs === 0 ? undefined : `up to ${span(jitterMs)}`],
    ['at most late', span(catchUpMs)],
    ['so far', soFar({ started, skipped, missed })],
    ['open', open.length === 0 ? undefined : escapeText(open.join(', '))],
    [
      'last',
      schedule.last === undefined
        ? undefined
        : escapeText(`${schedule.last.turn} (${relative(schedule.last.at, now)})`),
    ],
  ];
  return factLines(facts, screen);
}

function nextFact({ paused, note, next: [first] }: ScheduledTurns, { style }: Screen, now: number): Cell {
  if (paused)
    return { text: escapeText(note === undefined ? 'paused' : `paused: ${note}`), paint: style.warn };
  return {
    text: first === undefined ? 'never' : `${dateTime(first)}, in your time (${relative(first, now)})`,
  };
}

function soFar({ started, skipped, missed }: Pick<ScheduledTurns, 'started' | 'skipped' | 'missed'>): string {
  const left = [
    ...(skipped === 0 ? [] : [`${skipped} left out because one was open`]),
    ...(missed === 0 ? [] : [`${missed} too late`]),
  ];
  return [counted(started, 'turn'), ...left].join(', ');
}

async function runNow(id: string, { screen, json, withClient, command, typed }: Context): Promise<void> {
  const turn = await withClient((client) => client.schedules.run(id));
  if (json) return screen.json({ schedule: id, turn: turn ?? null });
  if (turn === undefined)
    return screen.line(
      typed('The server took it, and has not named the turn yet: `countersign schedule list`'),
    );
  screen.lines([escapeText(turn), `Follow it: ${command(`show ${shellWord(turn)} --follow`)}`]);
}

async function change(
  id: string,
  done: string,
  act: (client: Countersign) => Promise<void>,
  { withClient, print }: Context,
): Promise<void> {
  await withClient(act);
  print({ schedule: id, done }, () => [`${escapeText(id)} is ${done}`]);
}
