import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { JsonObject } from '../../contract/json';
import type { DemoAnswer } from './options';
import { newTextOf, SCENE } from './scene';

/** What somebody said to the proposal. */
export type Reply =
  { answer: 'approve' } | { answer: 'edit'; text: string } | { answer: 'deny'; reason: string };

/** Answers a proposal; `round` counts from 1, because an edit comes back as a new proposal. */
export type Answerer = (args: JsonObject, round: number) => Promise<Reply>;

/** Answers without a person: an edit is made once, and what comes back is approved. */
export function fixedAnswers(answer: DemoAnswer): Answerer {
  return (_args, round) => {
    if (answer === 'deny') return Promise.resolve({ answer, reason: 'the rename is not official yet' });
    if (answer === 'edit' && round === 1) return Promise.resolve({ answer, text: SCENE.edited });
    return Promise.resolve({ answer: 'approve' });
  };
}

/** Asks at the terminal. Ctrl-C and Ctrl-D call `interrupt`, and nothing is answered then. */
export function askAtTerminal(env: NodeJS.ProcessEnv, signal: AbortSignal, interrupt: () => void): Answerer {
  const ask = (question: string): Promise<string> => askLine(question, signal, interrupt);
  return async (args) => {
    const word = await chooseWord(ask);
    if (word === 'approve') return { answer: word };
    if (word === 'deny')
      return { answer: word, reason: await untilSaid(ask, 'Why not? The agent reads it: ') };
    return { answer: 'edit', text: await editText(newTextOf(args), env, ask) };
  };
}

type Ask = (question: string) => Promise<string>;

async function chooseWord(ask: Ask): Promise<DemoAnswer> {
  for (;;) {
    const said = (await ask('Your decision: [a]pprove, [e]dit, [d]eny? ')).trim().toLowerCase();
    const word = (['approve', 'edit', 'deny'] as const).find((one) => said !== '' && one.startsWith(said));
    if (word !== undefined) return word;
  }
}

async function untilSaid(ask: Ask, question: string): Promise<string> {
  for (;;) {
    const said = (await ask(question)).trim();
    if (said !== '') return said;
  }
}

async function editText(text: string, env: NodeJS.ProcessEnv, ask: Ask): Promise<string> {
  const editor = env['VISUAL'] || env['EDITOR'];
  const edited = editor === undefined || editor === '' ? undefined : await editInEditor(editor, text);
  if (edited !== undefined && edited.trim() !== '') return edited;
  return untilSaid(ask, `New text instead of "${text}": `);
}

/** Undefined where the editor cannot be run or fails. The setting may hold options: `code --wait`. */
async function editInEditor(editor: string, text: string): Promise<string | undefined> {
  const [command = '', ...options] = editor.split(/\s+/).filter(Boolean);
  const directory = await mkdtemp(join(tmpdir(), 'countersign-edit-'));
  const file = join(directory, 'new-text.txt');
  try {
    await writeFile(file, `${text}\n`, { mode: 0o600 });
    const worked = await runEditor(command, [...options, file]);
    return worked ? (await readFile(file, 'utf8')).replace(/\n$/, '') : undefined;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runEditor(command: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(command, args, { stdio: 'inherit' });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}

async function askLine(question: string, signal: AbortSignal, interrupt: () => void): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new AbortController();
  lines.once('SIGINT', interrupt);
  lines.once('close', () => closed.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, closed.signal]) });
  } catch (error) {
    // Ctrl-D: whoever closes the input wants to leave.
    if (!signal.aborted) interrupt();
    throw error;
  } finally {
    lines.close();
  }
}
