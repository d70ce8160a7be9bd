import type { Command } from 'commander';
import { errnoOf, errorMessage, usageError } from '../../contract/errors';
import { escapeText } from '../../contract/text/escape';
import { CHANNELS_FILE } from '../doctor/notify';
import { makePushKeys } from '../../notify/push-keys';
import { createWhole } from '../../system/files';
import type { Context } from '../context';

/** `web push-key <file>`. */
export function addPushKey(web: Command, context: Context): void {
  web
    .command('push-key <file>')
    .description('make the key that signs web push messages, and write the secret key to a new file')
    .action((file: string) => makePushKey(file, context));
}

async function makePushKey(file: string, { screen, json }: Context): Promise<void> {
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
  if (json) return screen.json({ publicKey, keyFile: file });
  screen.lines([
    `The secret key is in ${escapeText(file)}, which only you can read. Add this to ${CHANNELS_FILE}:`,
    '',
    '  browsers:',
    '    kind: web-push',
    `    publicKey: ${publicKey}`,
    `    keyFile: ${escapeText(file)}`,
    '    subject: mailto:you@example.org',
  ]);
}
