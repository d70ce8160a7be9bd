import { CommanderError } from 'commander';
import { CountersignError, errorMessage } from '../contract/errors';
import type { Style } from './print/screen';
import { escapeLines } from '../contract/text/escape';
import { missingPackage, notInstalled } from '../system/missing-package';
import { Interrupted } from './review/terminal';

/** How to print an error. */
interface ReportOptions {
  style: Style;
  /** Returns a sentence with the commands of this program as a person types them here. */
  typed(sentence: string): string;
  /** Whether to print the stack trace, for developers and bug reports. */
  debug: boolean;
}

/**
 * An error as lines for stderr: what happened, what to do, and the code. Empty for a help text, which was already
 * printed.
 */
export function errorLines(error: unknown, { style, typed, debug }: ReportOptions): string[] {
  if (error instanceof CommanderError && error.exitCode === 0) return [];
  if (error instanceof Interrupted) return ['', error.message];
  const { message, hint, code } = describe(error);
  const lines = [
    ...escapeLines(message, style.mark).map((line, at) => (at === 0 ? style.bad(line) : line)),
    ...(hint === undefined ? [] : escapeLines(typed(sentence(hint)), style.mark)),
    style.quiet(`[${code}]`),
  ];
  return debug && error instanceof Error ? [...lines, ...stackLines(error)] : lines;
}

function describe(error: unknown): { message: string; hint?: string; code: string } {
  if (error instanceof CountersignError) return error;
  return {
    message: `unexpected: ${errorMessage(error)}`,
    hint: 'This is not your mistake. Set COUNTERSIGN_DEBUG=1 to see where it comes from, and please report it.',
    code: 'unexpected',
  };
}

/** Makes a hint begin like a sentence, because it is printed on its own line. A name or an address stays as it is. */
function sentence(text: string) {
  return text.replace(/^(?!countersign\b)[a-z](?=[a-z]*[ ,;])/, (first) => first.toUpperCase());
}

function stackLines(error: Error): string[] {
  const cause = error.cause instanceof Error ? ['caused by:', ...stackLines(error.cause)] : [];
  return [...escapeLines(error.stack ?? ''), ...cause];
}

/**
 * Turns the error of a missing package into an error that says what to do. Any other error stays unchanged. Commands
 * load packages only when they need them, so a missing package may show late.
 */
export function explainMissing(error: unknown): unknown {
  const name = missingPackage(error);
  return name === undefined ? error : notInstalled(name, error);
}
