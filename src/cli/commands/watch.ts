import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Countersign, InboxQuery } from '../../client';
import { digestJson } from '../../contract/digest';
import { namesOfFields } from '../../contract/json';
import { userStateDir } from '../../system/files';
import { withLock } from '../../system/lock';
import type { Context } from '../context';
import { addInboxFilters, type InboxFilters, readInboxQuery, readTime, refuseOptions } from '../flags';
import { keepSending, sendOnce } from '../../notify/watch-and-send';
import type { Receiver } from '../../notify/notices';
import { CHANNELS_FILE } from '../doctor/notify';
import { createOutbox } from '../../notify/outbox';
import { createCommand, createWebhook, readSecret } from '../../notify/webhook-and-command';
import { makeStateFolder, openSent } from '../../notify/sent';
import { escapeText } from '../../contract/text/escape';
import { takeStopSignals } from '../stop-signals';
import { usageError } from '../../contract/errors';

interface WatchOptions extends InboxFilters {
  notify?: string;
  channels?: string;
  before: string;
  secretFile?: string;
  state?: string;
  once?: boolean;
}

/** The most new notices that a channel gets in one look. The next look sends the others. */
const LIMIT = 1000;

const NOTIFY_HINT = 'Write --notify https://example.org/hook, or --notify "command with options".';

/** `watch`. */
export function addWatch(program: Command, context: Context): void {
  const command = program
    .command('watch')
    .description(
      'send what waits for a person, and what expires soon, to a webhook, a command, by mail, to Slack or to browsers',
    )
    .option('--notify <url|command>', 'where to post, or what to run with each notice on stdin')
    .option('--channels <file>', `a file of channels, instead of --notify (default: ${CHANNELS_FILE})`)
    .option('--before <time>', 'send a notice this long before a deadline', '1h')
    .option('--secret-file <path>', 'what posts are signed with (default: COUNTERSIGN_NOTIFY_SECRET)')
    .option('--state <file>', 'where to remember what was sent (default: under XDG_STATE_HOME)')
    .option('--once', 'send what is due now, and end');
  addInboxFilters(command, `the most new notices in one look (default: ${LIMIT})`).action(
    (options: WatchOptions) => watch(options, context),
  );
}

async function watch(options: WatchOptions, context: Context) {
  const { limit = LIMIT, ...filter } = readInboxQuery(options);
  const beforeMs = readTime(options.before, '--before');
  const open = await readReceivers(options, context);
  const { signal, release } = takeStopSignals(() => undefined);
  const note = (text: string) => context.screen.note(escapeText(text));
  try {
    await context.withClient(async (client) => {
      const file = options.state ?? (await stateFile(options, filter, { client, context }));
      const isOnce = options.once === true;
      const receivers = await open({ client, warn: note, file, isOnce });
      await makeStateFolder(file);
      return withLock(`${file}.lock`, { progress: note, what: 'these notices are sent' }, async () => {
        const sent = await openSent(file);
        const outboxes = receivers.map((one) => createOutbox({ ...one, sent, note, signal, limit }));
        const plan = { client, filter, beforeMs, outboxes, note, signal };
        if (isOnce) return sendOnce(plan);
        const names = receivers.map(({ receiver }) => receiver.name).join(', ');
        note(`sending to ${names} what waits for a person; Ctrl-C ends it`);
        return keepSending(plan);
      });
    });
  } finally {
    release();
  }
}

/** A receiver, with the name of its channel if it has one. */
interface Channel {
  channel?: string;
  receiver: Receiver;
}

interface Opening {
  client: Countersign;
  warn(line: string): void;
  /** The file that records which notices were delivered. */
  file: string;
  /** Whether the command ends by itself, so that it cannot wait for answers. */
  isOnce: boolean;
}

type Open = (opening: Opening) => Promise<Channel[]>;

/** Reads the receivers from the options. Mistakes in the options are reported before anything connects. */
async function readReceivers(
  { notify, channels, secretFile }: WatchOptions,
  context: Context,
): Promise<Open> {
  if (notify === undefined) return openFile(channels, secretFile, context);
  if (channels !== undefined) throw usageError('--notify and --channels are given both', 'Name one of them.');
  if (notify.trim() === '') throw usageError('--notify names neither a URL nor a command', NOTIFY_HINT);
  const receiver = readReceiver(notify, secretFile, context);
  return () => Promise.resolve([{ receiver }]);
}

function readReceiver(notify: string, secretFile: string | undefined, { env }: Context): Receiver {
  if (!/^https?:/i.test(notify)) return createCommand(notify, env);
  if (!URL.canParse(notify)) throw usageError('--notify: this is not a URL', NOTIFY_HINT);
  return createWebhook(notify, readSecret(secretFile, env));
}

async function openFile(
  named: string | undefined,
  secretFile: string | undefined,
  { env }: Context,
): Promise<Open> {
  if (named === undefined && !existsSync(CHANNELS_FILE))
    throw usageError(
      `nothing says where to send: there is no --notify, and no ${CHANNELS_FILE} here`,
      NOTIFY_HINT,
    );
  refuseOptions({ secretFile }, 'goes with --notify', 'Write secretFile in the file of channels.');
  // Loaded here, so that no other command waits for YAML.
  const { loadChannels } = await import('../../notify/channels-file.js');
  const { openChannel } = await import('../../notify/channels.js');
  const file = await loadChannels(named ?? CHANNELS_FILE);
  return ({ client, warn, file: sentFile, isOnce }) => {
    const opened = Object.entries(file.channels).map(async ([channel, settings]) => {
      const postsFile = `${sentFile.replace(/\.json$/, '')}-${channel}.json`;
      const decider = isOnce ? {} : { decider: client };
      const parts = { file, env, client, warn, postsFile, ...decider };
      return { channel, receiver: await openChannel(settings, parts) };
    });
    return Promise.all(opened);
  };
}

/** The server that is watched, and the options that name it. */
interface Watched {
  client: Pick<Countersign, 'namespace'>;
  context: Pick<Context, 'env' | 'options'>;
}

/**
 * The state file. Each combination of receivers, server, namespace and filter has its own file. Two watches with one
 * file would wait for each other, and one of them would send nothing.
 */
export async function stateFile(
  { notify, channels = CHANNELS_FILE }: Pick<WatchOptions, 'notify' | 'channels'>,
  filter: Pick<InboxQuery, 'tool' | 'agent' | 'olderThanMs'>,
  { client, context: { env, options } }: Watched,
): Promise<string> {
  // Loaded here, so that no other command waits for it.
  const { temporalSettings } = await import('../../system/temporal-settings.js');
  const { address = temporalSettings(env, options().profile).address ?? '' } = options();
  const filters = namesOfFields({ ...filter }).length === 0 ? [] : [filter];
  const name = digestJson([notify ?? resolve(channels), address, client.namespace, ...filters]).slice(0, 16);
  return join(userStateDir(env), `notices-${name}.json`);
}
