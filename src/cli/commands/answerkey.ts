import type { Command } from 'commander';
import { ANSWER_KEY, ANSWER_KEY_FILE, makeAnswerKey } from '../../encryption/answer-keys';
import type { Context } from '../context';
import { writeNewFile } from '../files';
import { escapeText } from '../print/escape';

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
