import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Countersign } from '../client';
import type { StreamSender } from '../contract/streamed-text';
import type { RunningWeb, WebOptions } from '../server';
import type { Push } from '../server/push/store';
import { userStateDir } from '../system/files';
import { osUser, type Context } from './context';
import { manifest, ROOT } from './own-modules';
import { escapeText } from '../contract/text/escape';
import { readCount } from './flags';
import { usageError } from '../contract/errors';

/** The address of the web inbox, and the files that it uses. */
interface WebInboxOptions {
  host?: string;
  port?: number;
  allowHosts?: readonly string[];
  /** The origins of other pages that may ask here. */
  allowOrigins?: readonly string[];
  /** The path under which a reverse proxy serves the web inbox. */
  basePath?: string;
  usersFile?: string;
  /** The time for which the page holds a decision before it sends it, in milliseconds. */
  undoMs?: number;
  /** The address at which Prometheus reads metrics. */
  metrics?: string;
  /** The approvers file. With this file, decisions are signed. */
  approvers?: string;
  /** The file of the key that signs decisions. */
  inboxKey?: string;
  /** The sign-in file, which says how people sign in. */
  signIn?: string;
  /** The channels file, which says how browsers are notified. */
  channels?: string;
}

/** A web inbox that is open. */
export interface OpenWebInbox {
  /** The address of the web inbox and how to sign in, as lines. They contain a link that signs in once, if only this machine can reach it. */
  lines: string[];
  /** Takes what a worker in this process sends. */
  stream: StreamSender;
}

/** Opens the web inbox, calls `use`, and closes the inbox in every case. At a terminal, Enter creates a new link. */
export async function withWebInbox<T>(
  client: Countersign,
  { usersFile, approvers, inboxKey, signIn, channels, ...place }: WebInboxOptions,
  { context, use }: { context: Context; use(inbox: OpenWebInbox): Promise<T> },
): Promise<T> {
  const { screen } = context;
  const { startWeb } = await import('../server/index.js');
  if (signIn !== undefined && approvers === undefined)
    throw usageError(
      '--sign-in wants --approvers: its people are those who sign in',
      'add --approvers approvers.yaml',
    );
  const authority =
    approvers === undefined ? undefined : await openPeople({ approvers, inboxKey, signIn }, context);
  const push = channels === undefined ? undefined : await openPush(channels, context.env);
  const web = await startWeb({
    ...place,
    client,
    usersFile: usersFile ?? defaultUsersFile(context.env),
    refusalsFile: join(userStateDir(context.env), 'refusals.jsonl'),
    localUser: osUser(),
    ...authority,
    streamToken: context.env['COUNTERSIGN_STREAM_TOKEN'] || undefined,
    push,
    pageDir: join(ROOT, 'lib', 'web'),
    version: manifest().version,
    onLink: (link) => {
      screen.note('a link that is spent was used; a fresh one:');
      screen.note(`  ${screen.style.link(link)}`);
    },
    report: (error) =>
      screen.note(
        screen.style.bad(
          `the web inbox failed: ${escapeText(error instanceof Error ? (error.stack ?? error.message) : String(error))}`,
        ),
      ),
  });
  const enough = onEnter(context, () => screen.lines(linkLines(web, context)));
  try {
    return await use({ lines: linkLines(web, context), stream: { text: web.takeText, news: web.takeNews } });
  } finally {
    enough();
    await web.stop();
  }
}

/**
 * Opens the notification of browsers. The web inbox does not sign messages, so it does not need the secret of the
 * channels file.
 */
async function openPush(file: string, env: NodeJS.ProcessEnv): Promise<Push> {
  const { loadChannels } = await import('../notify/channels-file.js');
  const { openBrowsers } = await import('../notify/browsers.js');
  for (const channel of Object.values((await loadChannels(file)).channels))
    if (channel.kind === 'web-push') return { publicKey: channel.publicKey, ...openBrowsers(channel, env) };
  throw usageError(
    `${file} has no channel of web push`,
    'See docs/notifications.md for each kind of channel.',
  );
}

type Opened = Required<
  Pick<WebOptions, 'signer' | 'grantSigner' | 'passkeys' | 'grantPasskeys' | 'people' | 'voters'>
> &
  Pick<WebOptions, 'signIn'>;

/** Opens the approvers file and the sign-in. Loaded here, so that no other command waits for YAML and CEL. */
async function openPeople(
  {
    approvers: file,
    inboxKey,
    signIn,
  }: { approvers: string; inboxKey: string | undefined; signIn: string | undefined },
  context: Context,
): Promise<Opened> {
  const { screen, env } = context;
  const { openApprovers } = await import('../authority/rules/current-file.js');
  const { inboxGrantSigner, inboxSigner, openInboxKey } =
    await import('../authority/signatures/inbox-key.js');
  const warn = (line: string) => screen.note(screen.style.warn(escapeText(line)));
  const approvers = await openApprovers({ file, warn });
  const key = await openInboxKey(inboxKey ?? join(userStateDir(env), 'inbox-key.pem'));
  const { inboxKeys } = await approvers.current();
  if (!inboxKeys.some(({ fingerprint }) => fingerprint === key.fingerprint)) {
    warn(`${file} does not list the key of this web inbox, so no decision made here counts as signed in.`);
    screen.note(`Add this line to its inboxKeys: '${escapeText(key.line)}'`);
  }
  const { passkeyGrantSigner, passkeySigner } = await import('../authority/signatures/passkey-signer.js');
  const signers = {
    signer: inboxSigner({ key, approvers }),
    grantSigner: inboxGrantSigner({ key, approvers }),
    passkeys: passkeySigner(approvers),
    grantPasskeys: passkeyGrantSigner(approvers),
  };
  const people = () => approvers.current();
  if (signIn === undefined) return { ...signers, people, voters: people };
  const { readSignInFile } = await import('./sign-in-file.js');
  return { ...signers, people, voters: people, signIn: { ...(await readSignInFile(signIn, env)), people } };
}

/** The file of users who may sign in with a token, unless `--users` names another file. */
export function defaultUsersFile(env: NodeJS.ProcessEnv): string {
  return join(userStateDir(env), 'users.json');
}

/** Reads the port of the web inbox. 0 means any free port. */
export function readPort(port: string | undefined, option: string): { port?: number } {
  return port === undefined ? {} : { port: readCount(port, option, 0) };
}

/** The lines with the link. The link has its own line and is never broken, because people copy it. */
function linkLines(web: RunningWeb, { screen, keyboard }: Context): string[] {
  const link = web.drawLink();
  if (link === undefined) return [`The web inbox is open at ${web.url}; users sign in there.`];
  const again = keyboard?.input.isTTY ? '; Enter: another' : '';
  return [
    `The web inbox, signed in as ${escapeText(osUser())} (once, within 10 minutes${again}):`,
    `  ${screen.style.link(link)}`,
  ];
}

function onEnter({ keyboard }: Context, act: () => void): () => void {
  if (!keyboard?.input.isTTY) return () => undefined;
  const lines = createInterface({ input: keyboard.input });
  lines.on('line', act);
  return () => lines.close();
}
