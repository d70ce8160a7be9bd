import type { Command } from 'commander';
import type { Right } from '../../server/api';
import { createUsers, RIGHTS, type Users } from '../../server/auth/users';
import { defined } from '../../contract/defined';
import { usageError, errnoOf, errorMessage } from '../../contract/errors';
import { LOOPBACK_HOST } from '../../system/loopback';
import type { Context } from '../context';
import { defaultUsersFile, readPort, withWebInbox } from '../open-web-inbox';
import { collect, refuseOptions, readTime } from '../flags';
import { relative } from '../../contract/text/times';
import { tableLines } from '../print/table';
import { escapeText } from '../../contract/text/escape';
import { takeStopSignals } from '../stop-signals';
import { CHANNELS_FILE } from '../doctor/notify';
import { makePushKeys } from '../../notify/push-keys';
import { createWhole } from '../../system/files';

interface WebOptions {
  host?: string;
  port?: string;
  allowHost?: string[];
  allowOrigin?: string[];
  basePath?: string;
  users?: string;
  undo?: string;
  metrics?: string;
  inboxKey?: string;
  signIn?: string;
  channels?: string;
}

/** `web`, `web user`, `web push-key`. */
export function addWeb(program: Command, context: Context): void {
  const web = program
    .command('web')
    .description(
      'open the web inbox, until Ctrl-C; needs no worker; with --approvers, decisions are signed as signed in',
    )
    .option(
      '--host <address>',
      `address to listen on; any but this machine needs users (default: ${LOOPBACK_HOST})`,
    )
    .option('--port <port>', 'port to listen on (default: 7243, or a free one)')
    .option(
      '--allow-host <name>',
      "another host name of this server, such as a reverse proxy's; may be repeated",
      collect,
    )
    .option(
      '--allow-origin <origin>',
      "origin of a product's own page that may ask here, such as https://shop.example.com; may be repeated",
      collect,
    )
    .option('--base-path <path>', 'path under which a reverse proxy serves it, such as /countersign')
    .option('--users <file>', "file of the users who may sign in (default: in the user's state directory)")
    .option(
      '--undo <time>',
      'how long a decision can be undone before it is sent; 0: not at all (default: 5s)',
    )
    .option('--metrics <address>', 'host:port on which Prometheus reads what waits, without signing in')
    .option(
      '--inbox-key <file>',
      "with --approvers: the key that signs (default: in the user's state directory)",
    )
    .option('--sign-in <file>', 'with --approvers: how its people sign in, such as at an OpenID provider')
    .option('--channels <file>', 'a file of channels with web push: browsers may ask to be notified')
    .action((options: WebOptions) => openWebInbox(options, context));
  web
    .command('user [name]')
    .description('add a user who signs in with a token, and print it once; without a name, list the users')
    .option('--remove', 'remove the user; ends their sessions')
    .option('--may-fork', 'also allow live forks, which run calls with effects')
    .option('--may-converse', 'also allow messages in conversations, which start turns')
    .action((name: string | undefined, options: UserOptions) => {
      // The path of the file is known only after the command line is parsed.
      const users = createUsers(web.opts<WebOptions>().users ?? defaultUsersFile(context.env));
      return user(users, name, options, context);
    });
  addPushKey(web, context);
}

async function openWebInbox(
  { host, port, allowHost, allowOrigin, basePath, users, undo, metrics, ...files }: WebOptions,
  context: Context,
) {
  const { screen } = context;
  const place = {
    ...readPort(port, '--port'),
    ...readUndo(undo, '--undo'),
    ...defined({
      host,
      allowHosts: allowHost,
      allowOrigins: allowOrigin,
      basePath,
      usersFile: users,
      metrics,
      approvers: context.approversFile,
      ...files,
    }),
  };
  const stop = takeStopSignals(() => undefined);
  try {
    await context.withClient((client) =>
      withWebInbox(client, place, {
        context,
        use: async ({ lines }) => {
          screen.lines([...lines, '', 'Ctrl-C closes the web inbox; turns go on.']);
          await stop.asked;
        },
      }),
    );
    screen.note('web inbox closed');
  } finally {
    stop.release();
  }
}

interface UserOptions {
  remove?: boolean;
  mayFork?: boolean;
  mayConverse?: boolean;
}

async function user(
  users: Users,
  name: string | undefined,
  { remove, mayFork, mayConverse }: UserOptions,
  context: Context,
) {
  const rights = RIGHTS.filter((right) => (right === 'fork-live' ? mayFork : mayConverse) === true);
  if (name === undefined) {
    if (remove === true || rights.length > 0) throw usageError('name the user');
    return listUsers(users, context);
  }
  if (remove === true) {
    refuseOptions({ mayFork, mayConverse }, 'and --remove exclude each other');
    await users.remove(name);
    return context.screen.line(`${name} is removed and signed out`);
  }
  const token = await users.add(name, rights);
  context.print({ name, token }, () => [
    `${name} signs in with this token. It is shown once and kept nowhere:`,
    `  ${context.screen.style.strong(token)}`,
  ]);
}

/** What each right lets a user do, in words for the list. */
const MAY: Readonly<Record<Right, string>> = { 'fork-live': 'forks with effects', converse: 'conversations' };

async function listUsers(users: Users, { screen, json }: Context) {
  const known = (await users.list()).map(({ name, createdAt, rights }) => ({ name, createdAt, rights }));
  if (json) return screen.json(known);
  if (known.length === 0) return screen.line('Nobody has a token.');
  const rows = known.map(({ name, createdAt, rights }) => [
    escapeText(name),
    relative(createdAt, Date.now()),
    rights.map((right) => MAY[right]).join(', '),
  ]);
  screen.lines(tableLines({ head: ['USER', 'ADDED', 'MAY ALSO'], rows, flex: 0 }, screen));
}

/** `web push-key <file>`. */
export function addPushKey(web: Command, context: Context): void {
  web
    .command('push-key <file>')
    .description('make the key that signs web push messages, and write the secret key to a new file')
    .action((file: string) => makePushKey(file, context));
}

async function makePushKey(file: string, { print }: Context) {
  const { publicKey, privateKey } = makePushKeys();
  try {
    await createWhole(file, `${privateKey}\n`);
  } catch (error) {
    const isThere = errnoOf(error) === 'EEXIST';
    throw usageError(
      isThere ? `${file} is there already` : `the key cannot be kept in ${file}: ${errorMessage(error)}`,
      isThere ? 'Browsers are bound to their key, so it is not replaced. Name another file.' : undefined,
    );
  }
  print({ publicKey, keyFile: file }, () => [
    `The secret key is in ${escapeText(file)}, which only you can read. Add this to ${CHANNELS_FILE}:`,
    '',
    '  browsers:',
    '    kind: web-push',
    `    publicKey: ${publicKey}`,
    `    keyFile: ${escapeText(file)}`,
    '    subject: mailto:you@example.org',
  ]);
}

/** Reads how long a decision can be undone. */
function readUndo(undo: string | undefined, option: string): { undoMs?: number } {
  return undo === undefined ? {} : { undoMs: readTime(undo, option) };
}
