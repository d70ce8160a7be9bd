import type { Command } from 'commander';
import type { Context } from '../context';
import { addInboxFilters, readInboxQuery, type InboxFilters } from '../inbox-filters';
import { inboxLines } from '../print/inbox';
import { watchInboxHere } from '../watch-inbox';

interface InboxOptions extends InboxFilters {
  watch?: boolean;
  json?: boolean;
}

/** `inbox`. */
export function addInbox(program: Command, context: Context): void {
  const command = program
    .command('inbox')
    .description('list what waits for a person, earliest deadline first')
    .option('-w, --watch', 'stay and show what comes and goes, until Ctrl-C')
    .option('--json', 'print JSON; with --watch one line for each change');
  addInboxFilters(command).action((options: InboxOptions) => inbox(options, context));
}

async function inbox(options: InboxOptions, context: Context): Promise<void> {
  const query = readInboxQuery(options);
  const json = options.json === true;
  if (options.watch === true) return watchInboxHere({ query, json }, context);
  const items = await context.withDesk((desk) => desk.inbox(query));
  if (json) context.screen.json(items);
  else context.screen.lines(inboxLines(items, context, Date.now()));
}
