import type { Command } from 'commander';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { escapeText } from '../../contract/text/escape';

interface CancelOptions {
  abandon?: boolean;
  reason?: string;
}

/** `cancel <turn>`. */
export function addCancel(program: Command, context: Context): void {
  program
    .command('cancel <turn>')
    .description('end a turn: close its requests, cancel what runs, and wait until it has ended')
    .option('--abandon', 'end it even with calls in doubt, which stay unresolved on record')
    .option('--reason <text>', 'why; kept on record')
    .action((turn: string, options: CancelOptions) => cancel(turn, options, context));
}

async function cancel(prefix: string, options: CancelOptions, context: Context): Promise<void> {
  const { abandon = false, reason } = options;
  const { screen, command, json, as } = context;
  await context.withClient(async (client) => {
    const turn = await client.find(prefix);
    const { endedAt, status } = await client.view(turn);
    const ended = endedAt === null ? undefined : status;
    if (ended === undefined && abandon) await client.abandon(turn, { reason, approver: as });
    else if (ended === undefined) await client.cancel(turn, reason);
    const name = escapeText(turn);
    if (json) screen.json({ turn, abandoned: abandon, ended });
    else if (ended !== undefined) screen.line(`${name} had ended already: ${ended.replaceAll('_', ' ')}`);
    else if (abandon) screen.line(`${name} is given up`);
    else {
      screen.line(`${name} was asked to end; running calls are waited for`);
      screen.line(`Follow it: ${command(`show ${shellWord(turn)} --follow`)}`);
    }
  });
}
