import { createInterface } from 'node:readline/promises';
import { CountersignError } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import { editorOf, editText } from '../terminal/editor';
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
    return { answer: 'edit', text: await newText(newTextOf(args), env, ask) };
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

async function newText(text: string, env: NodeJS.ProcessEnv, ask: Ask): Promise<string> {
  const edited = editorOf(env) === undefined ? '' : await editInEditor(text, env);
  return edited.trim() === '' ? untilSaid(ask, `New text instead of "${text}": `) : edited;
}

/** Empty where the editor fails: the demo asks for the text itself then. */
async function editInEditor(text: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const edited = await editText({ text: `${text}\n`, name: 'new-text.txt', env });
    return edited.replace(/\n$/, '');
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'editor_failed') return '';
    throw error;
  }
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
