import { styleText } from 'node:util';
import type { Paint } from './visible';

/** Colours by what they mean; all of them leave text as it is where there is no colour. */
export interface Style {
  readonly color: boolean;
  strong: Paint;
  quiet: Paint;
  good: Paint;
  bad: Paint;
  /** Something a person has to look at. */
  warn: Paint;
  /** A command to type, a place to go. */
  link: Paint;
  /** A mark that stands for something that does not show. */
  mark: Paint;
}

type Format = Parameters<typeof styleText>[0];

/** The styles, with colour or without. */
export function createStyle(color: boolean): Style {
  const paint =
    (format: Format): Paint =>
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
export function wantsColor(stream: { isTTY?: boolean | undefined }, env: NodeJS.ProcessEnv): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return !['0', 'false'].includes(forced);
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return stream.isTTY === true;
}
