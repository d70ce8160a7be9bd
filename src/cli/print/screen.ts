import { styleText } from 'node:util';
import { escapeJson, escapeJsonLine, type Paint, safeLine } from '../../contract/text/escape';
import type { Tone } from '../../history/labels';
import type { DiffStyle } from '../../history/preview-lines';

/** A stream to write to: a terminal, a pipe, or a list in a test. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/**
 * Prints the output of a command: data to stdout, everything else to stderr. Each text is printed as one line, whatever
 * it contains, and no terminal obeys it; see `safeLine`.
 */
export interface Screen {
  /** The number of columns. Infinity in a pipe, so that nothing is cut there. */
  readonly width: number;
  readonly style: Style;
  /** Whether a person reads the output at a terminal. */
  readonly isTerminal: boolean;
  line(text?: string): void;
  lines(texts: readonly string[]): void;
  /** One value, indented. */
  json(value: unknown): void;
  /** One value in one line, for streams. */
  jsonLine(value: unknown): void;
  /** Prints progress to stderr, so that a pipe gets data only. */
  note(text: string): void;
  /**
   * Draws temporary lines: the next output takes their place. Each line has to fit the width. Draws nothing if no
   * person reads the output.
   */
  draw(texts: readonly string[]): void;
}

/** The width of a screen and its styles. Most lines depend on nothing else. */
export type ScreenFormat = Pick<Screen, 'width' | 'style'>;

/** The screen of a process. */
export function createScreen(out: Sink, err: Sink, env: NodeJS.ProcessEnv): Screen {
  const style = createStyle(wantsColor(out, env));
  const canDraw = out.isTTY === true && env['TERM'] !== 'dumb';
  let drawn = 0;
  const erase = () => {
    if (drawn > 0) out.write(`\x1b[${drawn}A\x1b[J`);
    drawn = 0;
  };
  const line = (text = '') => {
    erase();
    out.write(`${safeLine(text, style.color)}\n`);
  };
  const json = (text: string) => {
    erase();
    out.write(`${text}\n`);
  };
  return {
    width: columnsOf(out, env),
    style,
    isTerminal: out.isTTY === true,
    line,
    lines: (texts) => texts.forEach((text) => line(text)),
    json: (value) => json(escapeJson(value)),
    jsonLine: (value) => json(escapeJsonLine(value)),
    note: (text) => {
      erase();
      err.write(`${safeLine(text, style.color)}\n`);
    },
    draw: (texts) => {
      if (!canDraw) return;
      erase();
      texts.forEach((text) => line(text));
      drawn = texts.length;
    },
  };
}

/** The same screen with everything printed to stderr, for talking to a person while stdout has data. */
export function beside(screen: Screen): Screen {
  return { ...screen, line: (text = '') => screen.note(text), lines: (texts) => texts.forEach(screen.note) };
}

function columnsOf(out: Sink, env: NodeJS.ProcessEnv) {
  const named = Number(env['COLUMNS']);
  if (Number.isInteger(named) && named > 0) return Math.max(20, named);
  if (out.isTTY !== true) return Infinity;
  // A terminal that does not know its size says 0.
  return Math.max(20, out.columns || 80);
}

/** Colours by their meaning. Without colour, each style leaves text unchanged. */
export interface Style extends DiffStyle {
  readonly color: boolean;
  /** A text that a person has to look at. */
  warn: Paint;
}

/** The styles, with colour or without. */
export function createStyle(color: boolean): Style {
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      color && text !== '' ? styleText(format, text, { validateStream: false }) : text;
  return {
    color,
    strong: paint('bold'),
    quiet: paint('dim'),
    good: paint('green'),
    bad: paint('red'),
    warn: paint('yellow'),
    link: paint('cyan'),
    mark: paint('magenta'),
  };
}

/** Whether to colour: `FORCE_COLOR` first (`0` and `false` are no), then `NO_COLOR`, then whether it is a terminal. */
export function wantsColor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return !['0', 'false'].includes(forced);
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return stream.isTTY === true;
}

/** The style for a tone. Text without a tone, or with the tone of work in progress, is not coloured. */
export function toneOf(tone: Tone | undefined, style: Style): Paint {
  if (tone === undefined || tone === 'busy') return (text) => text;
  return tone === 'ask' ? style.warn : style[tone];
}
