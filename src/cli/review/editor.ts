import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountersignError } from '../../contract/errors';

/** A text for an editor. */
interface EditorTask {
  text: string;
  /** The name of the file. The editor recognises the format by its ending. */
  name: string;
  env: NodeJS.ProcessEnv;
}

/** The editor of a person: `VISUAL`, then `EDITOR`. Undefined if neither variable is set. */
export function editorOf(env: NodeJS.ProcessEnv): string | undefined {
  return [env['VISUAL'], env['EDITOR']].find((editor) => editor !== undefined && editor.trim() !== '');
}

/**
 * Lets a person edit a text in their editor. Only the person may read the file, and it is removed afterwards.
 *
 * @throws CountersignError `failed` if there is no editor, or it fails or is killed.
 */
export async function letPersonEdit({ text, name, env }: EditorTask): Promise<string> {
  const editor = editorOf(env);
  if (editor === undefined)
    throw failed('no editor is set', 'set VISUAL or EDITOR, or say the changes with --set or --args');
  const directory = await mkdtemp(join(tmpdir(), 'countersign-edit-'));
  const file = join(directory, name);
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
    await run(editor, file, env);
    return await readEdited(file, editor);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readEdited(file: string, editor: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw failed(`the editor (${editor}) left no file behind`, 'save the file where it is', cause);
  });
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw failed(`what the editor (${editor}) saved is not UTF-8`, 'set its encoding and try again');
}

/**
 * Runs the editor. The setting is a command line for a shell, as in other programs: `code --wait`, `'/opt/my editor'`.
 */
async function run(editor: string, file: string, env: NodeJS.ProcessEnv) {
  const child = spawn('sh', ['-c', `${editor} "$@"`, 'sh', file], { stdio: 'inherit', env });
  // While the editor runs, it handles Ctrl-C. A signal that ends this process also ends the editor. In both cases the
  // file is removed.
  const stay = (): void => undefined;
  const end = (): void => void child.kill('SIGTERM');
  process.on('SIGINT', stay).on('SIGTERM', end).on('SIGHUP', end);
  try {
    const ended = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(signal ?? code ?? 1));
    });
    if (ended !== 0)
      throw failed(
        `the editor (${editor}) ${howItEnded(ended)}`,
        'nothing was decided; correct VISUAL or EDITOR and try again',
      );
  } finally {
    process.removeListener('SIGINT', stay).removeListener('SIGTERM', end).removeListener('SIGHUP', end);
  }
}

function howItEnded(ended: number | NodeJS.Signals) {
  if (typeof ended === 'string') return `was ended by ${ended}`;
  if (ended === 127) return 'was not found';
  // A shell reports a signal that ended its command as 128 plus its number.
  const signal = Object.entries(constants.signals).find(([, number]) => number === ended - 128);
  return signal ? `was ended by ${signal[0]}` : `ended with ${ended}`;
}

function failed(message: string, hint: string, cause?: unknown) {
  return new CountersignError('failed', message, { hint, cause });
}
