import type { Command } from 'commander';
import type { Countersign, SessionView } from '../../client';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { refuseOptions } from '../flags';
import { sessionOf } from '../open-session';
import { escapeText } from '../../contract/text/escape';

interface CancelOptions {
  abandon?: boolean;
  finish?: boolean;
  reason?: string;
}

/** `cancel <turn|session>`. */
export function addCancel(program: Command, context: Context): void {
  program
    .command('cancel <turn|session>')
    .description('end a turn, and cancel what runs; or a session with its running turn')
    .option('--abandon', 'end a turn even with calls in doubt, which stay unresolved on record')
    .option('--finish', 'let the running turn of the session end first')
    .option('--reason <text>', 'why; kept on record')
    .action((named: string, options: CancelOptions) =>
      context.withClient(async (client) => {
        const session = await sessionOf(client, named);
        if (session === undefined) await cancelTurn(client, named, options, context);
        else await closeSession(client, session, options, context);
      }),
    );
}

async function cancelTurn(
  client: Countersign,
  prefix: string,
  { abandon = false, finish, reason }: CancelOptions,
  { screen, command, json, as }: Context,
) {
  refuseOptions({ finish }, 'goes with a session');
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
}

async function closeSession(
  client: Countersign,
  { session }: SessionView,
  { abandon, finish = false, reason }: CancelOptions,
  { print, as }: Context,
) {
  refuseOptions({ abandon }, 'goes with a turn');
  const cancel = !finish;
  await client.session(session).close({ cancel, sender: as, reason });
  print({ session, cancel }, () => [`${escapeText(session)} takes no more messages`]);
}
