import type { Command } from 'commander';
import { createUsers, type Users } from '../../server/auth/users';
import { defined } from '../../history/defined';
import type { Context } from '../context';
import { defaultUsersFile, readPort, withOpenDesk } from '../open-desk';
import { relative } from '../../contract/times';
import { tableLines } from '../print/table';
import { takeStopSignals } from '../stop-signals';

interface WebOptions {
  host?: string;
  port?: string;
  allowHost?: string[];
  users?: string;
}

/** `web`, `web user add|list|remove`. */
export function addWeb(program: Command, context: Context): void {
  const web = program
    .command('web')
    .description('open the desk in the browser, until Ctrl-C; needs no worker')
    .option(
      '--host <address>',
      'address to listen on; others than this machine need users (default: 127.0.0.1)',
    )
    .option('--port <port>', 'port to listen on (default: 7243, or a free one)')
    .option(
      '--allow-host <name>',
      "another name it is reached by, such as a reverse proxy's; may be repeated",
      collect,
    )
    .option('--users <file>', "file of those who may sign in (default: in the user's state directory)")
    .action((options: WebOptions) => openDesk(options, context));
  addUserCommands(web.command('user').description('who may sign in with a token'), {
    context,
    users: () => createUsers(web.opts<WebOptions>().users ?? defaultUsersFile(context.env)),
  });
}

async function openDesk({ host, port, allowHost, users }: WebOptions, context: Context): Promise<void> {
  const { screen } = context;
  const place = {
    ...readPort(port, '--port'),
    ...defined({ host, allowHosts: allowHost, usersFile: users }),
  };
  const stop = takeStopSignals(() => undefined);
  try {
    await context.withDesk((client) =>
      withOpenDesk(client, place, {
        context,
        use: async ({ lines }) => {
          screen.lines([...lines, '', 'Ctrl-C closes the desk; turns go on.']);
          await stop.asked;
        },
      }),
    );
    screen.note('desk closed');
  } finally {
    stop.release();
  }
}

interface UserPlace {
  context: Context;
  /** Known once the command line is parsed. */
  users(): Users;
}

function addUserCommands(user: Command, { context, users }: UserPlace): void {
  user
    .command('add <name>')
    .description('let somebody sign in; prints the token, once')
    .option('--json', 'print JSON')
    .action(async (name: string, { json }: { json?: boolean }) => {
      const token = await users().add(name);
      if (json === true) context.screen.json({ name, token });
      else context.screen.lines(tokenLines(name, token, context));
    });
  user
    .command('list')
    .description('show who may sign in')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => listUsers(users(), options, context));
  user
    .command('remove <name>')
    .description('let somebody sign in no more; ends their sessions')
    .action(async (name: string) => {
      await users().remove(name);
      context.screen.line(`${name} is removed and signed out`);
    });
}

function tokenLines(name: string, token: string, { screen }: Context): string[] {
  return [
    `${name} signs in with this token. It is shown once and kept nowhere:`,
    `  ${screen.style.strong(token)}`,
  ];
}

async function listUsers(users: Users, { json }: { json?: boolean }, { screen }: Context): Promise<void> {
  const known = (await users.list()).map(({ name, createdAt }) => ({ name, createdAt }));
  if (json === true) return screen.json(known);
  if (known.length === 0) return screen.line('Nobody has a token.');
  const rows = known.map(({ name, createdAt }) => [
    { text: name },
    { text: relative(createdAt, Date.now()) },
  ]);
  const place = { width: screen.width, quiet: screen.style.quiet };
  screen.lines(tableLines({ head: ['USER', 'ADDED'], rows, flex: 0 }, place));
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
