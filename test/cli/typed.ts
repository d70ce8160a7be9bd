import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { shellWord } from '../../src/contract/text/shell-word';
import { root } from '../support/build';
import { until } from '../support/until';
import { needs } from '../support/parts';

needs('terminal');

/** A command that a person typed at a terminal. */
export interface Typed {
  /** Everything on the terminal so far, without the codes that move the cursor and colour. */
  shown(): string;
  /** Everything as it came. */
  raw(): string;
  /** Waits until something is shown that was not there at the last answer. */
  sees(text: string | RegExp): Promise<void>;
  /** Waits for a question, then types a line. */
  answer(question: string | RegExp, line: string): Promise<void>;
  /** Types as it is. */
  type(text: string): void;
  /** Resolves with the exit code. */
  ended: Promise<number | null>;
}

const endings = new Set<() => void>();

/** Ends what a test that failed has left at its terminal. */
export function endTyped(): void {
  for (const end of endings) end();
}

/** Lets `endTyped` end a command that is not over. */
export function untilOver(end: () => void, over: Promise<unknown>): void {
  endings.add(end);
  const forget = (): void => void endings.delete(end);
  over.then(forget, forget);
}

/** Types `countersign …` at a real pseudo-terminal, which util-linux's `script` makes. */
export function typed(args: readonly string[], env: NodeJS.ProcessEnv): Typed {
  // Without exec the shell between would tell of the Ctrl-C that it got too, not of how the command ended.
  const command = ['exec', process.execPath, join(root, 'bin', 'countersign.js'), ...args]
    .map(shellWord)
    .join(' ');
  const child = spawn('script', ['-q', '-e', '-c', command, '/dev/null'], { env: { TERM: 'xterm', ...env } });
  let raw = '';
  let isOver = false;
  child.stdout.on('data', (chunk) => (raw += String(chunk)));
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isOver = true;
      resolve(code);
    });
  });
  untilOver(() => child.kill('SIGKILL'), ended);
  const person = personAt({ raw: () => raw, isOver: () => isOver, input: child.stdin });
  return { ...person, ended };
}

/** What is printed on a terminal, and where a person types. */
interface TerminalAt {
  raw(): string;
  isOver(): boolean;
  input: NodeJS.WritableStream;
}

/** A person at a terminal. */
export function personAt({ raw, isOver, input }: TerminalAt): Omit<Typed, 'ended'> {
  let read = 0;
  const shown = (): string =>
    raw()
      .replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '')
      .replaceAll('\r', '');
  const isSeen = (text: string | RegExp): boolean => {
    const news = shown().slice(read);
    const found = typeof text === 'string' ? news.includes(text) : text.test(news);
    if (!found && isOver()) throw new Error(`it ended without ${String(text)}: ${news}`);
    return found;
  };
  const sees = async (text: string | RegExp): Promise<void> => {
    await until(`${String(text)} at the terminal`, () => isSeen(text));
  };
  return {
    shown,
    raw,
    sees,
    type: (text) => void input.write(text),
    answer: async (question, line) => {
      await sees(question);
      read = shown().length;
      input.write(`${line}\r`);
    },
  };
}
