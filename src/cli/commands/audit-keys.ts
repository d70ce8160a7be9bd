import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { makeKeys } from '../../audit/file-key';
import { KEY_FILE } from '../../audit/keys';
import type { Context } from '../context';
import { writeNewFile } from '../../system/named-files';
import { escapeText } from '../../contract/text/escape';

/** `audit keys [file]`. */
export function addAuditKeys(audit: Command, context: Context): void {
  audit
    .command('keys [file]')
    .description('make the keys that sign audit files')
    .action((file: string | undefined) => keys(file ?? KEY_FILE, context));
}

async function keys(file: string, { screen, json }: Context): Promise<void> {
  const made = makeKeys();
  const publicFile = `${file}.pub`;
  await writeNewFile(file, made.privatePem);
  try {
    await writeNewFile(publicFile, made.publicPem, 0o644);
  } catch (error) {
    // One key file is useless without the other, and would block the next attempt.
    await rm(file, { force: true });
    throw error;
  }
  if (json) return screen.json({ key: made.id, privateFile: file, publicFile });
  const { good, quiet } = screen.style;
  screen.lines([
    good(`wrote ${escapeText(file)} and ${escapeText(publicFile)}`),
    `${quiet('public key')}  ${made.id}`,
    'Keep the first file to yourself; give the public key to everyone who verifies, and let them pin it.',
  ]);
}
