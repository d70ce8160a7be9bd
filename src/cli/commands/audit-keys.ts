import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { makeKeys } from '../../audit/file-key';
import { auditKeyFile } from '../../audit/keys';
import { makeFolderOf } from '../../system/files';
import type { Context } from '../context';
import { withFileErrors, writeNewFile } from '../../system/named-files';
import { escapeText } from '../../contract/text/escape';

/** `audit keys [file]`. */
export function addAuditKeys(audit: Command, context: Context): void {
  audit
    .command('keys [file]')
    .description('make the keys that sign audit files')
    .action((file: string | undefined) => keys(file, context));
}

/** The public key, which is for others, unless the user names the files. */
const PUBLIC_FILE = 'countersign-audit.key.pub';

async function keys(named: string | undefined, { screen, json, env }: Context): Promise<void> {
  const made = makeKeys();
  const file = named ?? auditKeyFile(env);
  const publicFile = named === undefined ? PUBLIC_FILE : `${named}.pub`;
  if (named === undefined) await withFileErrors(`writing ${file}`, () => makeFolderOf(file));
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
