import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline';
import { safeLine } from '../../contract/text/escape';
import type { Screen } from '../print/screen';
import { Interrupted, type Keyboard, type Terminal } from './terminal';

/** Handlers for what a person does at a prompt. */
interface PromptHandlers {
  /**
   * Called with typed text, which is empty for Enter alone. The text has several lines if the person pasted them or
   * ended a line with a `\`.
   */
  onText(text: string): void;
  /** Called for Ctrl-C while no question is open. */
  onInterrupt(): void;
  /** Called for Ctrl-D, or the end of the input. */
  onEnd(): void;
}

/** A question that nobody has to answer any more. */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn';
}

const SIGN = '> ';
const GOES_ON = '… ';
/** The number of lines that are kept in memory for the up arrow. These lines are never written anywhere. */
const HISTORY = 200;
/** Sequences that make a terminal mark pasted text, so that its line ends do not count as Enter. */
const PASTE = { on: '\x1b[?2004h', off: '\x1b[?2004l' } as const;

/**
 * A prompt that stays below other output. It also asks the questions of a review. While a question is open, no message
 * is taken, and pasted text does not answer it.
 */
export class Prompt implements Terminal {
  private lines: Interface | undefined;
  private history: string[] = [];
  private parts: string[] = [];
  private question: { text: string; resolve(line: string): void; reject(error: Error): void } | undefined;
  private readonly waiting = new Set<(error: Error) => void>();
  /** Output to print after an editor has released the terminal. */
  private held: (() => void)[] = [];
  private isPasting = false;
  private isAsking = false;
  private isShown = false;
  private isClosed = false;

  constructor(
    private readonly keyboard: Keyboard,
    private readonly on: PromptHandlers,
  ) {}

  /** Shows the prompt with the text that was typed so far. */
  show(): void {
    if (this.isClosed) return;
    const lines = (this.lines ??= this.open());
    for (const write of this.held.splice(0)) write();
    const sign = this.parts.length > 0 ? GOES_ON : SIGN;
    lines.setPrompt(safeLine(this.question?.text ?? sign, true));
    lines.prompt(true);
    this.isShown = true;
  }

  /** Whether there is typed text that was not sent. */
  isTyping(): boolean {
    return this.parts.length > 0 || (this.lines?.line ?? '') !== '';
  }

  /** Drops typed text that was not sent. */
  drop(): void {
    this.parts = [];
    this.clearLine();
    this.show();
  }

  /** Runs `use`, which asks questions with `ask`. Afterwards the prompt is shown again. */
  async questions<T>(use: () => Promise<T>): Promise<T> {
    this.isAsking = true;
    this.hide();
    try {
      return await use();
    } finally {
      this.isAsking = false;
      this.show();
    }
  }

  /** Ends an open question. A question that already has an answer is not affected. */
  withdraw(): void {
    const { question } = this;
    if (question === undefined) return;
    this.question = undefined;
    this.clearLine();
    this.hide();
    question.reject(new Withdrawn('it does not wait any more'));
  }

  ask(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) return reject(new Interrupted());
      this.question = { text, resolve, reject };
      this.clearLine();
      this.show();
    });
  }

  meanwhile<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.add(reject);
      work.then(resolve, reject).finally(() => this.waiting.delete(reject));
    });
  }

  release(): void {
    const { lines } = this;
    if (lines === undefined) return;
    this.hide();
    this.lines = undefined;
    this.keyboard.output.write(PASTE.off);
    this.keyboard.input.removeListener('keypress', this.noteKey);
    lines.close();
  }

  /** Releases the terminal for good. */
  close(): void {
    if (this.isClosed) return;
    this.release();
    this.isClosed = true;
    for (const write of this.held.splice(0)) write();
    this.giveUp();
  }

  /** The same screen, but it prints above the typed text. */
  above(screen: Screen): Screen {
    const print = (write: () => void) => this.print(write);
    return {
      ...screen,
      line: (text) => print(() => screen.line(text)),
      lines: (texts) => print(() => screen.lines(texts)),
      note: (text) => print(() => screen.note(text)),
    };
  }

  private print(write: () => void): void {
    const { lines } = this;
    const isAway = lines === undefined && this.isAsking && !this.isClosed;
    if (isAway) return void this.held.push(write);
    if (lines === undefined || !this.isShown) return write();
    const { rows } = lines.getCursorPos();
    this.hide();
    write();
    // Node moves up by this number of rows before it draws the line again.
    this.keyboard.output.write('\n'.repeat(rows));
    lines.prompt(true);
    this.isShown = true;
  }

  private hide(): void {
    const { lines } = this;
    if (lines === undefined || !this.isShown) return;
    const { output } = this.keyboard;
    moveCursor(output, 0, -lines.getCursorPos().rows);
    cursorTo(output, 0);
    clearScreenDown(output);
    this.isShown = false;
  }

  private clearLine(): void {
    this.lines?.write(null, { ctrl: true, name: 'e' });
    this.lines?.write(null, { ctrl: true, name: 'u' });
  }

  private open(): Interface {
    const { input, output } = this.keyboard;
    const made = createInterface({
      input,
      output,
      terminal: true,
      historySize: HISTORY,
      history: this.history,
      crlfDelay: Infinity,
    });
    made.on('history', (history: string[]) => {
      // Answers to questions are not messages.
      if (this.isAsking) history.shift();
      this.history = [...history];
    });
    made.on('line', (line) => this.take(line));
    made.on('SIGINT', () => this.interrupt());
    made.on('close', () => {
      if (made !== this.lines) return;
      this.close();
      this.on.onEnd();
    });
    input.on('keypress', this.noteKey);
    output.write(PASTE.on);
    return made;
  }

  private readonly noteKey = (_: unknown, key: { name?: string } | undefined): void => {
    if (key?.name === 'paste-start') this.isPasting = true;
    if (key?.name === 'paste-end') this.isPasting = false;
  };

  private take(line: string): void {
    this.isShown = false;
    const { question } = this;
    if (question) {
      // The pasted text was meant as a message.
      if (this.isPasting) return this.show();
      this.question = undefined;
      return question.resolve(line);
    }
    if (this.isAsking) return;
    if (this.isPasting || line.endsWith('\\')) {
      this.parts.push(this.isPasting ? line : line.slice(0, -1));
      return this.show();
    }
    const text = [...this.parts.splice(0), line].join('\n');
    this.show();
    this.on.onText(text);
  }

  private interrupt(): void {
    if (this.question === undefined && this.waiting.size === 0) return this.on.onInterrupt();
    this.clearLine();
    this.hide();
    this.giveUp();
  }

  private giveUp(): void {
    const rejects = [...this.waiting];
    const { question } = this;
    this.question = undefined;
    this.waiting.clear();
    question?.reject(new Interrupted());
    for (const reject of rejects) reject(new Interrupted());
  }
}
