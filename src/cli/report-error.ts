import { CommanderError } from 'commander';
import { types } from 'node:util';
import { CountersignError, errorMessage } from '../contract/errors';
import type { Style } from './print/screen';
import { escapeLines } from './print/escape';
import { Interrupted } from './review/terminal';

/** How to print an error. */
export interface ReportOptions {
  style: Style;
  /** A sentence with our commands as a person types them here. */
  typed(sentence: string): string;
  /** With the stack trace; for us and for bug reports. */
  debug: boolean;
}

/** An error as lines for stderr: what happened, what to do, its code. None for a help text: that was printed already. */
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

function describe(error: unknown): { message: string; hint?: string | undefined; code: string } {
  if (error instanceof CountersignError) return error;
  if (error instanceof CommanderError) return describeUsage(error);
  return {
    message: `unexpected: ${errorMessage(error)}`,
    hint: 'This is not your mistake. Set COUNTERSIGN_DEBUG=1 to see where it comes from, and please report it.',
    code: 'unexpected',
  };
}

/** Commander's own words, without its prefix. */
function describeUsage({ message, code }: CommanderError): { message: string; hint: string; code: string } {
  const isHelp = code === 'commander.help';
  const aboutIds =
    code === 'commander.unknownOption' ? 'An id begins with a letter or a digit, never with "-". ' : '';
  return {
    message: isHelp ? 'no command was given' : message.replace(/^error: /, ''),
    hint: `${aboutIds}See \`countersign --help\`, or \`countersign <command> --help\`.`,
    code: 'usage',
  };
}

/** A hint stands on its own line, so it begins like a sentence. */
function sentence(text: string): string {
  if (/^countersign\b/.test(text)) return text;
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function stackLines(error: Error): string[] {
  const cause = error.cause instanceof Error ? ['caused by:', ...stackLines(error.cause)] : [];
  return [...escapeLines(error.stack ?? ''), ...cause];
}

/**
 * Turns the error of a missing package into one that says what to do; any other error stays as it is. Commands load
 * packages when they need them, so a missing one shows late.
 */
export function explainMissing(error: unknown): unknown {
  const name = missingPackage(error);
  if (name === undefined) return error;
  return new CountersignError('not_installed', `${name} is not installed`, {
    hint: 'Run `npm install` again, without leaving anything out.',
    data: { name },
    cause: error,
  });
}

/** The name of the package. A path names a file of ours, not a package. */
function missingPackage(error: unknown): string | undefined {
  if (!types.isNativeError(error) || error instanceof CountersignError) return undefined;
  const isMissing = 'code' in error && /^(ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
  return isMissing ? /^Cannot find (?:module|package) '([^'./][^']*)'/.exec(error.message)?.[1] : undefined;
}
