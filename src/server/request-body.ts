import { isUtf8 } from 'node:buffer';
import type { Context, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { isCallId, VOTE_SIGNATURE } from '../contract/decision';
import { reasonIssue } from '../authority/grants/grant';
import { CountersignError } from '../contract/errors';
import { isObject, type Json } from '../contract/json';
import { FILTER_CHARACTERS, LIMITS } from '../contract/limits';
import { readJson, describeIssues } from '../contract/read-json';
import { reasonProblem } from '../contract/call-texts';
import { limitText } from '../contract/text/bytes';
import { soundCheck } from '../contract/schema/message';
import { type Fields, exact, type Shape } from '../contract/schema/shape';
import type { BodyOf } from './api';

/** The most bytes of a body. The largest body is a message of a conversation. */
const MAX_BYTES = LIMITS.sessionMessageBytes;

/** Refuses a body that says that it is over `MAX_BYTES` with `too_large`, before anything reads it. */
export const limitBody: MiddlewareHandler = (c, next) => {
  requireLength(c, MAX_BODY);
  return next();
};

/** The most items of a list whose items cost more to check than to send. */
const MOST_ITEMS = 5_000;

/** A list whose length is checked before its items are. */
export const shortList = <T extends z.ZodType>(item: T) =>
  z.array(z.unknown()).max(MOST_ITEMS).pipe(z.array(item));

/** The most bytes of a body, and what it is in words. */
interface BodyLimit {
  bytes: number;
  what: string;
  hint?: string;
}

const MAX_BODY: BodyLimit = { bytes: MAX_BYTES, what: 'body', hint: 'send less at once' };

function requireLength(c: Context, limit: BodyLimit) {
  if (Number(c.req.header('content-length') ?? 0) > limit.bytes) throw tooLarge(limit);
}

function tooLarge({ bytes, what, hint }: BodyLimit) {
  return new CountersignError('too_large', `the ${what} is over ${limitText(bytes)}`, { hint });
}

/**
 * Reads a body up to its limit, whether or not it says its length.
 *
 * @throws CountersignError `too_large`; `usage` if the connection was cut, which is not our fault.
 */
export async function readBodyBytes(c: Context, limit: BodyLimit): Promise<Buffer> {
  requireLength(c, limit);
  const chunks: Uint8Array[] = [];
  const reader = c.req.raw.body?.getReader();
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return (await reader?.read())?.value;
    } catch (cause) {
      throw new CountersignError('usage', `the ${limit.what} did not come whole`, { cause });
    }
  };
  let size = 0;
  // There is no `for await` here: leaving such a loop would close the connection before the answer is out.
  for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
    size += chunk.byteLength;
    if (size > limit.bytes) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads and checks the body of a request.
 *
 * @throws CountersignError `usage`.
 */
export async function readBody<T>(c: Context, schema: z.ZodType<T>, limit = MAX_BODY): Promise<T> {
  if (!/^application\/json(\s*;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new CountersignError('usage', 'the body has to be application/json');
  return checkInput(schema, parseBody(await readBodyBytes(c, limit)));
}

/**
 * Checks an input.
 *
 * @throws CountersignError `usage`, which names each field.
 */
export function checkInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw usage(parsed.error.issues.slice(0, 5).map(describeIssue).join('; '));
}

function parseBody(bytes: Buffer): Json {
  if (!isUtf8(bytes)) throw usage('the body is not UTF-8');
  const read = readJson(new TextDecoder().decode(bytes));
  if (read.ok) return read.value;
  throw usage(`the body is not valid: ${describeIssues(read.issues)}`);
}

function describeIssue({ path, message }: z.core.$ZodIssue) {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

function usage(message: string) {
  return new CountersignError('usage', message);
}

/** A name or id: never empty, and without control characters or invisible characters. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(text), 'characters that do not show are not allowed');

/** A hundred years in milliseconds. A date further from now could be out of range. */
export const MOST_MS = 100 * 365 * 24 * 3_600_000;

/** A value of a filter in the URL. */
export const filterText = z.string().min(1).max(FILTER_CHARACTERS).optional();

/** The id of a call or a step. */
export const callId = z.string().refine(isCallId, 'is not the id of a call');

const reasonFor = (problemOf: (text: string) => string | undefined) =>
  z
    .string()
    .superRefine((text, ctx) => {
      const message = problemOf(text);
      if (message !== undefined) ctx.addIssue({ code: 'custom', message });
    })
    .optional();

/** The reason that a person gives for a decision. */
export const reason = reasonFor(reasonProblem);

/** The reason that a person gives for a grant, or for the end of one. */
export const controlReason = reasonFor(reasonIssue);

/**
 * A schema for the body of a message: the contract's own schema without the fields that the session sets, and with
 * `required` fields.
 */
export function messageBody<T extends object, R extends keyof T & string>(
  schema: Shape<T> & { properties: Fields; required: string[] },
  required: readonly R[],
): z.ZodType<BodyOf<T, R>> {
  const { approver: _, channel: __, authenticated: ___, signature: ____, ...properties } = schema.properties;
  const check = soundCheck({ ...schema, properties, required: [...schema.required, ...required] });
  return z.custom<BodyOf<T, R>>().superRefine((value, ctx) => {
    for (const { path, message } of check(value)) {
      // What checks the value next may rely on its form.
      ctx.addIssue({ code: 'custom', path: path.split('/').slice(1), message, continue: false });
    }
    const body: unknown = value;
    const said = reason.safeParse(isObject(body) ? body['reason'] : undefined);
    for (const { message } of said.error?.issues ?? [])
      ctx.addIssue({ code: 'custom', path: ['reason'], message });
  });
}

/** The data that a passkey signed. The web inbox makes a signature from it. */
export const PASSKEY_FIELDS = exact({
  assertion: VOTE_SIGNATURE.properties.armored,
  at: VOTE_SIGNATURE.properties.at,
  notAfter: VOTE_SIGNATURE.properties.notAfter,
});
