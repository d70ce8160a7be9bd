import { CommanderError } from 'commander';
import { CountersignError } from '../contract/errors';
import type { Style } from './print/style';
import { visibleLines } from './print/visible';
import { Interrupted } from './terminal/terminal';

/** How an error is told. */
export interface ReportOptions {
  style: Style;
  /** With the stack trace; for us and for bug reports. */
  debug: boolean;
}

/** An error as lines for stderr: what happened, what to do, its code. Nothing for a help text, which was printed already. */
export function errorLines(error: unknown, { style, debug }: ReportOptions): string[] {
  if (error instanceof CommanderError && error.exitCode === 0) return [];
  if (error instanceof Interrupted) return ['', error.message];
  const { message, hint, code } = describe(error);
  const told = [
    ...visibleLines(message, style.mark).map((line, at) => (at === 0 ? style.bad(line) : line)),
    ...(hint === undefined ? [] : visibleLines(sentence(hint), style.mark)),
    style.quiet(`[${code}]`),
  ];
  return debug && error instanceof Error ? [...told, ...stackLines(error)] : told;
}

function describe(error: unknown): { message: string; hint?: string | undefined; code: string } {
  if (error instanceof CountersignError) return error;
  if (error instanceof CommanderError) return describeUsage(error);
  return {
    message: `unexpected: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'This is not your mistake. Set COUNTERSIGN_DEBUG=1 to see where it comes from, and please report it.',
    code: 'unexpected',
  };
}

/** Commander's own words, without its prefix. */
function describeUsage({ message, code }: CommanderError): { message: string; hint: string; code: string } {
  const isHelp = code === 'commander.help';
  return {
    message: isHelp ? 'no command was given' : message.replace(/^error: /, ''),
    hint: 'See `countersign --help`, or `countersign <command> --help`.',
    code: 'usage',
  };
}

/** Hints come from every room; here they all stand on a line of their own. */
function sentence(text: string): string {
  if (/^countersign\b/.test(text)) return text;
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function stackLines(error: Error): string[] {
  const cause = error.cause instanceof Error ? ['caused by:', ...stackLines(error.cause)] : [];
  return [...visibleLines(error.stack ?? ''), ...cause];
}
