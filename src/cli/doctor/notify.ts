import { existsSync } from 'node:fs';
import { usageError } from '../../contract/errors';
import { loadChannels } from '../../notify/channels-file';
import { openChannel } from '../../notify/channels';
import { type Receiver, testNotice } from '../../notify/notices';
import { checked, failed, type Finding } from './machine';

/** The channels file that is looked for in the current directory if no file is named. */
export const CHANNELS_FILE = 'notify.yaml';

/** A test to send over the channels. */
interface ChannelTest {
  /** The only channel to try. Absent: each. */
  only?: string;
  /** Who gets it if a channel reaches voters. */
  to: string;
  warn(line: string): void;
}

/** Whether each channel of a file could send: its secrets exist, and its server answers. With a test: whether it sends. */
export async function checkChannels(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
  test?: ChannelTest,
): Promise<Finding[]> {
  if (file === undefined && test === undefined && !existsSync(CHANNELS_FILE)) return [];
  if (file === undefined && !existsSync(CHANNELS_FILE)) {
    const hint = 'Write one; docs/notifications.md shows it. Or name another with --channels.';
    return [failed('channels', usageError(`there is no ${CHANNELS_FILE} here`, hint))];
  }
  try {
    const channels = await loadChannels(file ?? CHANNELS_FILE);
    const chosen = Object.entries(channels.channels).filter(([name]) => (test?.only ?? name) === name);
    if (chosen.length === 0) {
      const hint = `It has ${Object.keys(channels.channels).join(', ')}.`;
      throw usageError(`${file ?? CHANNELS_FILE} has no channel ${test?.only ?? ''}`, hint);
    }
    // Neither a look nor a test concerns a turn, so the server is not asked.
    const client = { view: () => Promise.reject(new Error('no turn is looked at')) };
    const parts = { file: channels, env, client, tester: test?.to, warn: test?.warn ?? (() => undefined) };
    return await Promise.all(
      chosen.map(([channel, settings]) =>
        checked(`channel ${channel}`, async () => {
          const receiver = await openChannel(settings, parts);
          if (test) return { state: 'ok', detail: await sendTest(receiver) };
          const found = await receiver.check?.(new AbortController().signal);
          const trial = `${receiver.name} is set up; a test tries it: countersign doctor --send ${channel}`;
          return { state: 'ok', detail: found ?? trial };
        }),
      ),
    );
  } catch (error) {
    return [failed('channels', error)];
  }
}

async function sendTest(receiver: Receiver): Promise<string> {
  const { signal } = new AbortController();
  const notice = testNotice(Date.now());
  const targets = (await receiver.targetsOf?.(notice)) ?? [undefined];
  for (const target of targets) await receiver.deliver(notice, signal, target);
  return `sent to ${receiver.name}${targets.length === 1 ? '' : `, ${targets.length} times`}`;
}
