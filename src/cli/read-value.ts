import { readFile } from 'node:fs/promises';
import { CountersignError } from '../contract/errors';
import { isObject, type JsonObject } from '../contract/json';
import { toMilliseconds } from '../tools/duration';

/** Text as it is, or with `@` before it the contents of the file of that name (`@-`: of stdin). */
export async function readText(value: string, option: string): Promise<string> {
  if (!value.startsWith('@')) return value;
  const file = value.slice(1);
  try {
    return file === '-' ? await readStdin() : await readFile(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CountersignError('usage', `${option} ${value}: the file cannot be read (${why})`, {
      hint: 'After @ comes the name of a file, or - for stdin.',
    });
  }
}

/** Arguments from JSON or, with `@`, from a file of it. */
export async function readArguments(value: string): Promise<JsonObject> {
  const parsed = parseJson(await readText(value, '--args'));
  if (isJsonObject(parsed)) return parsed;
  throw new CountersignError('usage', '--args is JSON but no object', {
    hint: `Write an object with all arguments, such as --args '{"path":"a.txt"}'.`,
  });
}

/** A time such as `30s` or `5 minutes`, or a plain number of seconds, in milliseconds. `0` is allowed. */
export function readTime(value: string, option: string): number {
  try {
    return toMilliseconds(/^\d+$/.test(value) ? Number(value) * 1000 : value, 0);
  } catch {
    throw new CountersignError('usage', `${option} ${value}: this is no time`, {
      hint: 'Write 30s, 5m or 2h; a plain number counts seconds.',
    });
  }
}

/** A moment: ISO 8601 (`2026-11-21`, `2026-11-21T08:00:00Z`), or how long ago (`7d`, `24h`). As ISO 8601. */
export function readMoment(value: string, option: string, now: number): string {
  const ago = /^\d+ ?[a-z]+$/i.test(value) ? now - readTime(value, option) : NaN;
  const iso = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/.test(value) ? Date.parse(value) : ago;
  const moment = new Date(iso);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new CountersignError('usage', `${option} ${value}: this is no time`, {
    hint: 'Write a date such as 2026-11-21 or 2026-11-21T08:00:00Z, or how long ago: 24h, 7d.',
  });
}

/** A whole number of at least `least`. */
export function readCount(value: string, option: string, least = 1): number {
  const count = /^\d+$/.test(value) ? Number(value) : NaN;
  if (Number.isSafeInteger(count) && count >= least) return count;
  throw new CountersignError('usage', `${option} ${value}: this is no whole number of at least ${least}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CountersignError('usage', `--args is no JSON: ${error instanceof Error ? error.message : ''}`, {
      hint: 'In a shell put single quotes around it, or write it to a file and say --args @file.json.',
    });
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

async function readStdin(): Promise<string> {
  process.stdin.setEncoding('utf8');
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  return text;
}
