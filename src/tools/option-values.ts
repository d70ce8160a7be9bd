import { z } from 'zod';
import { msToNumber, type StringValue } from '@temporalio/common';
import { CountersignError, errorMessage } from '../contract/errors';
import type { Duration } from './types';
import { LONGEST } from '../contract/limits';

/**
 * A duration in whole milliseconds.
 *
 * @throws Error with the reason: not a time, below `least`, or more than ten years.
 */
export function toMilliseconds(duration: Duration, least = 1): number {
  const ms = parseDuration(duration);
  if (!Number.isFinite(ms)) throw new Error(`${quote(duration)} is not a time; write milliseconds or '30s'`);
  if (ms < least) throw new Error(`${quote(duration)} is too short; the least is ${least} ms`);
  if (ms > LONGEST) throw new Error(`${quote(duration)} is too long; the most is ten years`);
  return ms;
}

/** A duration in whole milliseconds; NaN for a text that does not name a time. */
export function parseDuration(duration: Duration): number {
  try {
    return Math.round(isText(duration) ? msToNumber(duration) : duration);
  } catch {
    // `ms` throws for empty and overlong text, and returns NaN for any other text that does not name a time.
    return Number.NaN;
  }
}

// The type of `ms` lists every spelling that it accepts. `ms` itself checks the text.
function isText(duration: Duration): duration is StringValue {
  return typeof duration === 'string';
}

function quote(duration: Duration) {
  return typeof duration === 'string' ? `'${duration}'` : String(duration);
}

/** The schema of an option that is a time. Its output is whole milliseconds. */
export function duration(least = 1) {
  const given = z.union([z.number(), z.string()], 'must be milliseconds or text such as 30s');
  return given.transform((time, context) => {
    try {
      return toMilliseconds(time, least);
    } catch (error) {
      context.addIssue(errorMessage(error));
      return z.NEVER;
    }
  });
}

/** The schema of an option that is a function. No more can be known of one. */
export function callable<T = unknown>(words = 'must be a function') {
  return z.custom<T>((value) => typeof value === 'function', words);
}

/**
 * Options as their schema reads them.
 *
 * @throws what `toError` makes of the words for each wrong option: its path and the broken rule.
 */
export function checkedOptions<T>(
  schema: z.ZodType<T>,
  options: unknown,
  toError: (words: string) => Error = (words) => new Error(words),
): T {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw toError(parsed.error.issues.map(describeIssue).join('; '));
}

/** Makes the error for wrong options of a function, from the words for what is wrong. */
export function wrongOptions(of: string): (words: string) => CountersignError {
  return (words) =>
    new CountersignError('config_invalid', `${of}: ${words}`, `Correct what is given to ${of}.`);
}

function describeIssue(issue: z.core.$ZodIssue) {
  const { path } = issue;
  // A union without its own message says nothing useful, so we take the message of its last part, the usual form.
  const last = issue.code === 'invalid_union' ? issue.errors.at(-1)?.[0] : undefined;
  const message = issue.message === 'Invalid input' ? (last?.message ?? issue.message) : issue.message;
  return path.length === 0 ? message : `\`${path.join('.')}\` ${message}`;
}

/** The error for a wrong definition. The error shows the name of the definition, if the definition has a name. */
export function invalidDefinition(
  kind: 'agent' | 'tool',
  options: unknown,
  cause: unknown,
): CountersignError {
  const given: unknown = typeof options === 'object' && options !== null && Reflect.get(options, 'name');
  const name = typeof given === 'string' && given !== '' ? `\`${given.slice(0, 80)}\`` : 'without a name';
  return new CountersignError('config_invalid', `${kind} ${name}: ${errorMessage(cause)}`, {
    hint: `Correct the definition given to ${kind === 'agent' ? 'defineAgent' : 'defineTool'}.`,
    cause,
  });
}
