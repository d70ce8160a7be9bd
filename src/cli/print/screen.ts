import { createStyle, wantsColor, type Style } from './style';
import { visibleJson, visibleJsonLine } from './visible';

/** A stream to write to: a terminal, a pipe, or a list in a test. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** Where a command prints: data to stdout, everything else to stderr. */
export interface Screen {
  /** Columns; Infinity where nobody looks (a pipe), so that nothing is cut there. */
  readonly width: number;
  readonly style: Style;
  /** Whether a person reads along at a terminal. */
  readonly isTerminal: boolean;
  line(text?: string): void;
  lines(texts: readonly string[]): void;
  /** One value, indented. */
  json(value: unknown): void;
  /** One value in one line, for streams. */
  jsonLine(value: unknown): void;
  /** Progress; goes to stderr, so that a pipe gets data only. */
  note(text: string): void;
}

/** The screen of a process. */
export function createScreen(out: Sink, err: Sink, env: NodeJS.ProcessEnv): Screen {
  const style = createStyle(wantsColor(out, env));
  const line = (text = ''): void => void out.write(`${text}\n`);
  return {
    width: columnsOf(out, env),
    style,
    isTerminal: out.isTTY === true,
    line,
    lines: (texts) => texts.forEach((text) => line(text)),
    json: (value) => line(visibleJson(value)),
    jsonLine: (value) => line(visibleJsonLine(value)),
    note: (text) => void err.write(`${text}\n`),
  };
}

/** The same screen for talking to a person beside data: everything goes to stderr. */
export function beside(screen: Screen): Screen {
  return { ...screen, line: (text = '') => screen.note(text), lines: (texts) => texts.forEach(screen.note) };
}

function columnsOf(out: Sink, env: NodeJS.ProcessEnv): number {
  const named = Number(env['COLUMNS']);
  if (Number.isInteger(named) && named > 0) return Math.max(20, named);
  if (out.isTTY !== true) return Infinity;
  // A terminal that does not know its size says 0.
  return Math.max(20, out.columns || 80);
}
