import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';
import { CountersignError } from '../../contract/errors';
import { isSoundJson } from '../../contract/json';

/** Eight times the arguments that a call may have. */
const MOST_BYTES = 1024 * 1024;
/** As deep as arguments may be, and a little for what is around them. */
const MOST_LEVELS = 64;

/** Refuses a body over 1 MiB before it is read. Errors: `too_large`. */
export const limitBody = bodyLimit({
  maxSize: MOST_BYTES,
  onError: () => {
    throw new CountersignError('too_large', 'the body is over 1 MiB', { hint: 'send less at once' });
  },
});

/** Reads the body of a request by its schema. Errors: `not_json`, `usage`. */
export async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  if (!/^application\/json(\s*;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new CountersignError('not_json', 'the body has to be application/json');
  const value = parseJson(await c.req.text());
  if (!isSoundJson(value, MOST_LEVELS))
    throw usage(
      `the body is nested more than ${MOST_LEVELS} levels deep, or has a number or key that is not allowed`,
    );
  return checkInput(schema, value);
}

/** Checks what was sent. Errors: `usage`, naming each field. */
export function checkInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw usage(parsed.error.issues.slice(0, 5).map(describe).join('; '));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usage('the body is no JSON');
  }
}

function describe({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

function usage(message: string): CountersignError {
  return new CountersignError('usage', message);
}
