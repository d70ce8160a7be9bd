import { isUtf8 } from 'node:buffer';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { isCallId, VOTE_SIGNATURE } from '../contract/decision';
import { reasonIssue } from '../contract/control/grants';
import { CountersignError } from '../contract/errors';
import type { SignedByPasskey } from '../contract/authority/passkeys';
import { isObject, type Json, type JsonObject } from '../contract/json';
import { FILTER_CHARACTERS, LIMITS } from '../contract/limits';
import { readJson, describeIssues } from '../contract/read-json';
import { reasonProblem } from '../contract/call-texts';
import { limitText } from '../contract/text/bytes';
import { messageCheck, type MessageOf, type MessageSchema } from '../contract/schema/message';
import type { BodyOf } from './api';

/** The most bytes of a body. The largest body is a message of a conversation. */
const MAX_BYTES = LIMITS.sessionMessageBytes;

const limited = bodyLimit({
  maxSize: MAX_BYTES,
  onError: () => {
    throw new CountersignError('too_large', `the body is over ${limitText(MAX_BYTES)}`, {
      hint: 'send less at once',
    });
  },
});

/**
 * Refuses a body over `MAX_BYTES` with `too_large`, before reading it. A DELETE without these headers has no body (RFC 9112,
 * 6.3), so it passes without a check.
 */
export const limitBody: MiddlewareHandler = (c, next) => {
  const { method, headers } = c.req.raw;
  const isBare = method === 'DELETE' && !headers.has('content-length') && !headers.has('transfer-encoding');
  return isBare ? next() : whole(limited(c, next));
};

/** The part of a body that was read. A connection that is cut is not our fault. */
async function whole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    throw new CountersignError('usage', 'the body did not come whole', { cause });
  }
}

/**
 * Reads and checks the body of a request.
 *
 * @throws CountersignError `not_json`, `usage`.
 */
export async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  if (!/^application\/json(\s*;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new CountersignError('not_json', 'the body has to be application/json');
  return checkInput(schema, parseBody(await whole(c.req.arrayBuffer())));
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

function parseBody(bytes: ArrayBuffer): Json {
  if (!isUtf8(bytes)) throw usage('the body is not UTF-8');
  const read = readJson(new TextDecoder().decode(bytes));
  if (read.ok) return read.value;
  throw usage(`the body is not valid: ${describeIssues(read.issues)}`);
}

function describeIssue({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

function usage(message: string): CountersignError {
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
export function messageBody<S extends MessageSchema, R extends keyof MessageOf<S> & string>(
  schema: S,
  required: readonly R[],
): z.ZodType<BodyOf<MessageOf<S>, R>> {
  const { approver: _, channel: __, authenticated: ___, signature: ____, ...properties } = schema.properties;
  const check = messageCheck({ ...schema, properties, required: [...schema.required, ...required] });
  return z.custom<BodyOf<MessageOf<S>, R>>().superRefine((value, ctx) => {
    for (const { path, message } of check(value)) {
      ctx.addIssue({ code: 'custom', path: path.split('/').slice(1), message });
    }
    const body: unknown = value;
    const said = reason.safeParse(isObject(body) ? body['reason'] : undefined);
    for (const { message } of said.error?.issues ?? [])
      ctx.addIssue({ code: 'custom', path: ['reason'], message });
  });
}

/** The data that a passkey signed. The web inbox makes a signature from it. */
export const PASSKEY_FIELDS = {
  type: 'object',
  properties: {
    assertion: VOTE_SIGNATURE.properties.armored,
    at: VOTE_SIGNATURE.properties.at,
    notAfter: VOTE_SIGNATURE.properties.notAfter,
  },
  required: ['assertion', 'at', 'notAfter'],
  additionalProperties: false,
} as const satisfies MessageSchema;

const passkeyIssues = messageCheck(PASSKEY_FIELDS);
/** `PASSKEY` as a zod schema, for a field of another body. */
export const signedByPasskey = z.custom<SignedByPasskey>(
  (value) => passkeyIssues(value).length === 0,
  'is not what a passkey signed',
);

/** The arguments of a call. They are checked against the tool's schema where they are used. */
export const args = z.custom<JsonObject>(isObject, 'must be an object');
