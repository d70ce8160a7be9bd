import type { Command } from 'commander';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Countersign } from '../../client';
import { digestJson } from '../../contract/digest';
import { withLock } from '../../lock';
import type { Context } from '../context';
import { addInboxFilters, type InboxFilters, readInboxQuery, readTime, usageError } from '../options';
import { createCommand, createWebhook, readSecret } from '../receivers';
import { createOutbox, keepSending, makeFolder, openSent, type Receiver, sendOnce } from '../notices';
import { escapeText } from '../print/escape';
import { takeStopSignals } from '../stop-signals';

interface WatchOptions extends InboxFilters {
  notify: string;
  before: string;
  secretFile?: string;
  state?: string;
  once?: boolean;
}

/** More than a person can handle. One look costs the server two queries in any case. */
const LIMIT = 1000;

const NOTIFY_HINT = 'Write --notify https://example.org/hook, or --notify "command with options".';

/** `watch --notify`. */
export function addWatch(program: Command, context: Context): void {
  const command = program
    .command('watch')
    .description('send what waits for a person, and what expires soon, to a webhook or a command')
    .requiredOption('--notify <url|command>', 'where to post, or what to run with each notice on stdin')
    .option('--before <time>', 'send a notice this long before a deadline', '1h')
    .option('--secret-file <path>', 'what posts are signed with (default: COUNTERSIGN_NOTIFY_SECRET)')
    .option('--state <file>', 'where to remember what was sent (default: under XDG_STATE_HOME)')
    .option('--once', 'send what is due now, and end');
  addInboxFilters(command, LIMIT).action((options: WatchOptions) => watch(options, context));
}

async function watch(options: WatchOptions, context: Context): Promise<void> {
  const query = { limit: LIMIT, ...readInboxQuery(options) };
  const beforeMs = readTime(options.before, '--before');
  const receiver = await readReceiver(options, context);
  const { signal, release } = takeStopSignals(() => undefined);
  const note = (text: string): void => context.screen.note(escapeText(text));
  try {
    await context.withClient(async (client) => {
      const file = options.state ?? stateFile(options, client, context);
      await makeFolder(file);
      return withLock(`${file}.lock`, { progress: note, what: 'these notices are sent' }, async () => {
        const outbox = createOutbox({ receiver, sent: await openSent(file), note, signal });
        const plan = { client, query, beforeMs, outbox, note, signal };
        if (options.once === true) return sendOnce(plan);
        note(`sending to ${receiver.name} what waits for a person; Ctrl-C ends it`);
        return keepSending(plan);
      });
    });
  } finally {
    release();
  }
}

async function readReceiver({ notify, secretFile }: WatchOptions, { env }: Context): Promise<Receiver> {
  if (notify.trim() === '') throw usageError('--notify names neither a URL nor a command', NOTIFY_HINT);
  if (!/^https?:/i.test(notify)) return createCommand(notify, env);
  if (!URL.canParse(notify)) throw usageError('--notify: this is not a URL', NOTIFY_HINT);
  return createWebhook(notify, await readSecret(secretFile, env));
}

/** One file for each receiver and namespace, so that two do not answer for one another. */
function stateFile({ notify }: WatchOptions, { namespace }: Countersign, { env, options }: Context): string {
  const base = env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state');
  const address = options().address ?? env['TEMPORAL_ADDRESS'] ?? '';
  const name = digestJson([notify, address, namespace]).slice(0, 16);
  return join(base, 'countersign', `notices-${name}.json`);
}
