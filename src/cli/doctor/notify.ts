import { existsSync } from 'node:fs';
import { errorMessage } from '../../contract/errors';
import { loadChannels } from '../../notify/channels-file';
import { openChannel } from '../../notify/channels';
import { CHANNELS_FILE } from '../../notify/notices';
import { failed, type Finding } from './machine';

/** Whether each channel of a file could send: its secrets exist, and its server answers. Sends nothing. */
export async function checkChannels(file: string | undefined, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (file === undefined && !existsSync(CHANNELS_FILE)) return [];
  try {
    const channels = await loadChannels(file ?? CHANNELS_FILE);
    const warnings: string[] = [];
    const client = { view: () => Promise.reject(new Error('nothing is sent')) };
    const parts = { file: channels, env, client, warn: (line: string) => void warnings.push(line) };
    const { signal } = new AbortController();
    return await Promise.all(
      Object.entries(channels.channels).map(async ([channel, settings]): Promise<Finding> => {
        const name = `channel ${channel}`;
        try {
          const receiver = await openChannel(settings, parts);
          const found = await receiver.check?.(signal);
          const todo = `countersign notify test ${channel}`;
          if (found !== undefined) return { name, state: 'ok', detail: found };
          return { name, state: 'ok', detail: `${receiver.name} is set up; a test tries it: ${todo}` };
        } catch (error) {
          return failed(name, new Error(errorMessage(error)));
        }
      }),
    );
  } catch (error) {
    return [failed('channels', error)];
  }
}
