import type { Command } from 'commander';
import type { InboxItem, InboxQuery } from '../../client';
import { defined } from '../../history/defined';
import type { Context } from '../context';
import { expiry, relative } from '../../contract/times';
import { tableLines, type Cell } from '../print/table';
import { visible } from '../print/visible';
import type { Screen } from '../print/screen';
import { readCount } from '../read-value';

interface InboxOptions {
  tool?: string;
  agent?: string;
  limit?: string;
  json?: boolean;
}

/** `inbox`. */
export function addInbox(program: Command, context: Context): void {
  program
    .command('inbox')
    .description('list what waits for a person, earliest deadline first')
    .option('--tool <name>', 'only calls of this tool')
    .option('--agent <name>', 'only turns of this agent')
    .option('--limit <count>', 'at most so many (default: 100)')
    .option('--json', 'print JSON')
    .action((options: InboxOptions) => inbox(options, context));
}

async function inbox(options: InboxOptions, context: Context): Promise<void> {
  const query = readQuery(options);
  const items = await context.withDesk((desk) => desk.inbox(query));
  if (options.json === true) context.screen.json(items);
  else context.screen.lines(inboxLines(items, context, Date.now()));
}

function readQuery({ tool, agent, limit }: InboxOptions): InboxQuery {
  return defined({ tool, agent, limit: limit === undefined ? undefined : readCount(limit, '--limit') });
}

/** The inbox as a table, and what to type next. */
export function inboxLines(
  items: readonly InboxItem[],
  context: Pick<Context, 'screen' | 'command'>,
  now: number,
): string[] {
  const { screen } = context;
  const [first] = items;
  if (first === undefined) return ['Nothing waits for a person.'];
  const table = {
    head: ['CALL', 'WHAT', 'AGENT', 'WAITS', 'EXPIRES', 'CALLS FOR'],
    rows: items.map((item) => row(item, screen, now)),
    flex: 5,
  };
  return [
    ...tableLines(table, { width: screen.width, quiet: screen.style.quiet }),
    ...(screen.isTerminal
      ? ['', `Look at one: ${context.command(`show ${first.turn}/${first.callId}`)}`]
      : []),
  ];
}

function row(item: InboxItem, { style }: Screen, now: number): Cell[] {
  const doubt = item.kind === 'in_doubt';
  return [
    { text: visible(`${item.turn}/${item.callId}`) },
    { text: doubt ? 'in doubt' : 'request', paint: doubt ? style.bad : style.warn },
    { text: visible(item.agent) },
    { text: relative(item.since, now).replace(/ ago$/, '') },
    { text: expiry(item.deadline, now) },
    { text: visible(withoutId(item)) },
  ];
}

function withoutId({ summary, callId, tool }: InboxItem): string {
  return summary.startsWith(`${callId} `) ? summary.slice(callId.length + 1) : `${tool} ${summary}`;
}
