import { createInterface, type Interface } from 'node:readline';
import { race } from '../../system/race';
import { CountersignError } from '../../contract/errors';
import { safeLine } from '../../contract/text/escape';

/** The stream where a person types, and the stream where the typed text appears. */
export interface Keyboard {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & Size & { isTTY?: boolean };
}

/** Columns and rows, if they are known. They change with the window. */
interface Size {
  columns?: number;
  rows?: number;
}

/** Thrown when the person leaves: Ctrl-C, or the end of the input. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor(message = 'nothing was decided') {
    super(message);
  }
}

/** A conversation with the person at the terminal. Always close it, so that the terminal is released. */
export interface Terminal {
  /**
   * Asks for one line. Ignores what was typed before the question appeared.
   *
   * @throws Interrupted when the person leaves.
   */
  ask(question: string): Promise<string>;
  /**
   * Waits for work to finish, unless the person leaves meanwhile.
   *
   * @throws Interrupted when the person leaves.
   */
  meanwhile<T>(work: Promise<T>): Promise<T>;
  /** Releases the terminal, for example for an editor, until the next question. */
  release(): void;
}

/** Whether there is a person to ask: both the input and the output are a terminal. */
export function canAsk(keyboard: Keyboard | undefined): keyboard is Keyboard {
  return keyboard?.input.isTTY === true && keyboard.output.isTTY === true;
}

/** Opens a terminal. The typed text is not kept as history. */
export function openTerminal({ input, output }: Keyboard): Terminal {
  const left = new AbortController();
  const gone = untilLeft(left.signal);
  // A rejection that nobody awaits must not end the process.
  gone.catch(() => undefined);
  let lines: Interface | undefined;
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
  const leave = () => {
    left.abort();
    waiting?.reject(new Interrupted());
    waiting = undefined;
    release();
  };
  const release = () => {
    const open = lines;
    lines = undefined;
    open?.close();
  };
  const open = () => {
    const made = createInterface({ input, output, terminal: true, historySize: 0 });
    made.on('line', (line) => {
      waiting?.resolve(line);
      waiting = undefined;
    });
    made.on('SIGINT', leave);
    made.on('close', () => {
      if (made === lines) leave();
    });
    return made;
  };
  const ask = (question: string): Promise<string> =>
    new Promise((resolve, reject) => {
      if (left.signal.aborted) return reject(new Interrupted());
      lines ??= open();
      waiting = { resolve, reject };
      // Ctrl-U: drops an unfinished line that was typed before the question.
      lines.write(null, { ctrl: true, name: 'u' });
      lines.setPrompt(safeLine(question, true));
      lines.prompt();
    });
  return {
    release,
    meanwhile: (work) => race([gone, work]),
    ask,
  };
}

function untilLeft(left: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    left.addEventListener('abort', () => reject(new Interrupted()), { once: true });
  });
}

/**
 * Opens a terminal, uses it, and releases it.
 *
 * @throws CountersignError `usage` if nobody could answer; `hint` says what the person can do then.
 */
export async function withTerminal<T>(
  keyboard: Keyboard | undefined,
  hint: string,
  use: (terminal: Terminal) => Promise<T>,
): Promise<T> {
  if (!canAsk(keyboard)) throw new CountersignError('usage', 'there is no terminal to ask at', hint);
  const terminal = openTerminal(keyboard);
  try {
    return await use(terminal);
  } finally {
    terminal.release();
  }
}
