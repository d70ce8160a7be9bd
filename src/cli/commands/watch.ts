import type { Command } from 'commander';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Countersign } from '../../client';
import { digestJson } from '../../contract/digest';
import { CountersignError } from '../../contract/errors';
import { withLock } from '../../engine/lock';
import type { Context } from '../context';
import { addInboxFilters, readInboxQuery, type InboxFilters } from '../inbox-filters';
import { createCommand } from '../notify/command';
import { createOutbox } from '../notify/outbox';
import type { Receiver } from '../notify/receiver';
import { readSecret } from '../notify/secret';
import { sendForever, sendOnce } from '../notify/send';
import { makeFolder, openSent } from '../notify/sent';
import { createWebhook } from '../notify/webhook';
import { visible } from '../print/visible';
import { readTime } from '../read-value';
import { takeStopSignals } from '../stop-signals';

interface WatchOptions extends InboxFilters {
  notify: string;
  before: string;
  secretFile?: string;
  state?: string;
  once?: boolean;
}

/** More than a person could be told of; one look costs the server two queries all the same. */
const LIMIT = 1000;

/** `watch --notify`. */
export function addWatch(program: Command, context: Context): void {
  const command = program
    .command('watch')
    .description('tell a webhook or a command what waits for a person, and what expires soon')
    .requiredOption('--notify <url|command>', 'where to post, or what to run with each notice on stdin')
    .option('--before <time>', 'tell of a deadline so long before it', '1h')
    .option('--secret-file <path>', 'what posts are signed with (default: COUNTERSIGN_NOTIFY_SECRET)')
    .option('--state <file>', 'where to remember what was told (default: under XDG_STATE_HOME)')
    .option('--once', 'tell what there is to tell now, and end');
  addInboxFilters(command, LIMIT).action((options: WatchOptions) => watch(options, context));
}

async function watch(options: WatchOptions, context: Context): Promise<void> {
  const query = { limit: LIMIT, ...readInboxQuery(options) };
  const beforeMs = readTime(options.before, '--before');
  const receiver = await readReceiver(options, context);
  const { signal, release } = takeStopSignals(() => undefined);
  const tell = (text: string): void => context.screen.note(visible(text));
  try {
    await context.withDesk(async (desk) => {
      const file = options.state ?? stateFile(options, desk, context);
      await makeFolder(file);
      return withLock(`${file}.lock`, { progress: tell, what: 'these notices are sent' }, async () => {
        const outbox = createOutbox({ receiver, sent: await openSent(file), tell, signal });
        const plan = { desk, query, beforeMs, outbox, tell, signal };
        if (options.once === true) return sendOnce(plan);
        tell(`telling ${receiver.name} what waits for a person; Ctrl-C ends it`);
        return sendForever(plan);
      });
    });
  } finally {
    release();
  }
}

async function readReceiver({ notify, secretFile }: WatchOptions, { env }: Context): Promise<Receiver> {
  if (notify.trim() === '') throw usage('--notify names neither a URL nor a command');
  if (!/^https?:/i.test(notify)) return createCommand(notify, env);
  if (!URL.canParse(notify)) throw usage('--notify: this is no URL');
  return createWebhook(notify, await readSecret(secretFile, env));
}

/** One file for each receiver and namespace, so that two do not answer for one another. */
function stateFile({ notify }: WatchOptions, { namespace }: Countersign, { env, options }: Context): string {
  const base = env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state');
  const address = options().address ?? env['TEMPORAL_ADDRESS'] ?? '';
  const name = digestJson([notify, address, namespace]).slice(0, 16);
  return join(base, 'countersign', `notices-${name}.json`);
}

function usage(message: string): CountersignError {
  return new CountersignError('usage', message, {
    hint: 'Write --notify https://example.org/hook, or --notify "command with options".',
  });
}
