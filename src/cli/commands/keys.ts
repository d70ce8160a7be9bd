import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { ANSWER_KEY, ANSWER_KEY_FILE, makeAnswerKey } from '../../encryption/answer-keys';
import { makeKeys } from '../../history/audit/file-key';
import { KEY_FILE } from '../audit/keys';
import type { Context } from '../context';
import { writeNewFile } from '../files';
import { escapeText } from '../print/escape';

/** `keys [file]`. */
export function addKeys(program: Command, context: Context): void {
  program
    .command('keys [file]')
    .description('make the keys that sign audit files')
    .option('--json', 'print JSON')
    .action((file: string | undefined, { json = false }: { json?: boolean }) =>
      keys(file ?? KEY_FILE, json, context),
    );
}

async function keys(file: string, json: boolean, { screen }: Context): Promise<void> {
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

/** `answerkey [file]`. */
export function addSecretKey(program: Command, context: Context): void {
  program
    .command('answerkey [file]')
    .description('make the key by which workers read secret answers')
    .option('--json', 'print JSON')
    .action((file: string | undefined, { json = false }: { json?: boolean }) =>
      secretKey(file ?? 'countersign-answers.key', json, context),
    );
}

async function secretKey(file: string, json: boolean, { screen }: Context): Promise<void> {
  const { line, fingerprint } = await makeAnswerKey();
  await writeNewFile(file, `${line}\n`);
  if (json) return screen.json({ file, fingerprint });
  const { good, quiet } = screen.style;
  screen.lines([
    good(`wrote ${escapeText(file)}`),
    `${quiet('fingerprint')}  ${fingerprint}`,
    `Give the file to the workers: ${ANSWER_KEY_FILE}=${escapeText(file)}`,
    `Let those who answer pin it: ${ANSWER_KEY}=${fingerprint}`,
  ]);
}
