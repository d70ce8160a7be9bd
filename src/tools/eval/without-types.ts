import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { nothingDone, ToolError } from '../errors';

const PROGRAM = join(__dirname, 'strip.cjs');
const MOST_MS = 20_000;
const MOST_WORDS = 1500;

const answerSchema = z.union([z.object({ stripped: z.string() }), z.object({ refused: z.string() })]);
type Answer = z.infer<typeof answerSchema>;

/**
 * Takes the types out of TypeScript, in a process of its own: the parser is native, and code that is nested too deeply
 * ends its process.
 *
 * @throws ToolError for code that is not TypeScript or is nested too deeply; nothing ran.
 */
export async function withoutTypes(code: string, signal: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(MOST_MS);
  // It gets no environment variables, so it holds no secrets.
  const child = fork(PROGRAM, { env: {}, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  try {
    const answer = await answerOf(child, { code, signal: AbortSignal.any([signal, late]) });
    if (answer === undefined) throw signal.aborted ? nothingDone('the call was stopped') : tooDeep();
    if ('stripped' in answer) return answer.stripped;
    const words = stripVTControlCharacters(answer.refused).trim().slice(0, MOST_WORDS);
    throw new ToolError(`SyntaxError: ${words}\nNothing ran.`);
  } finally {
    child.kill('SIGKILL');
  }
}

/** The error for code that overflows the stack of a parser. */
export function tooDeep(): ToolError {
  return new ToolError('The code is nested too deeply, or is too long to read. Nothing ran.');
}

/** Undefined if the process ended without an answer, or the signal aborted. */
function answerOf(
  child: ChildProcess,
  { code, signal }: { code: string; signal: AbortSignal },
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const none = (): void => resolve(undefined);
    child.once('message', (message) => resolve(answerSchema.safeParse(message).data));
    child.once('error', none);
    child.once('exit', none);
    if (signal.aborted) none();
    else signal.addEventListener('abort', none, { once: true });
    child.send(code, (error) => error !== null && none());
  });
}
