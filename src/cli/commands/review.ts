import type { Command } from 'commander';
import { addInboxFilters, readInboxQuery, type InboxFilters } from '../inbox-filters';
import { osUser, type Context } from '../context';
import { reviewInbox } from '../review/review';
import { withTerminal } from '../terminal/terminal';

interface ReviewOptions extends InboxFilters {
  as?: string;
}

/** `review`. */
export function addReview(program: Command, context: Context): void {
  const command = program
    .command('review')
    .description('go through the inbox one by one: look, decide, go on')
    .option('--as <name>', 'who decides (default: your name on this machine)');
  addInboxFilters(command).action((options: ReviewOptions) => review(options, context));
}

async function review(options: ReviewOptions, context: Context): Promise<void> {
  const query = readInboxQuery(options);
  const hint = 'Use `countersign inbox --json` with `countersign approve` and `deny` in scripts.';
  await withTerminal(context.keyboard, hint, (terminal) =>
    context.withDesk((desk) =>
      reviewInbox({ desk, query, approver: options.as ?? osUser(), context, terminal }),
    ),
  );
}
