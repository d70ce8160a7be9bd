import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { z } from 'zod';
import { CountersignError, type ErrorCode } from '../contract/errors';
import type { ApiError } from './api';

const passkeySchema = z.object({ statement: z.string(), rpId: z.string(), ids: z.array(z.string()) });
const grantPasskeySchema = passkeySchema.extend({ sentence: z.string() });

/** The HTTP status of each error code. Any other code means a fault in this program and gets status 500. */
const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  usage: 400,
  signed_out: 401,
  sign_in_failed: 401,
  not_allowed: 403,
  signature_needed: 403,
  not_found: 404,
  exists: 409,
  refused: 409,
  full: 409,
  bad_history: 409,
  too_large: 413,
  too_many_attempts: 429,
  server_failed: 502,
  file_failed: 502,
  no_server: 503,
  server_busy: 503,
  not_ready: 503,
  still_waiting: 503,
};

/** An error in the form in which the API answers it. */
interface ErrorResponse {
  status: ContentfulStatusCode;
  body: ApiError;
}

/** Turns an error into the answer to a request. */
export type FormatError = (error: unknown) => ErrorResponse;

/** Makes a formatter. An error that is not a CountersignError goes to `report`, and the answer does not reveal it. */
export function createErrorFormatter(report: (error: unknown) => void): FormatError {
  let last: unknown;
  return (error) => {
    if (error instanceof CountersignError) return toResponse(error);
    // Several pages may get the same error, which is reported once.
    if (error !== last) report(error);
    last = error;
    const hint = 'this is not your fault; the terminal that runs countersign says more';
    return { status: 500, body: { code: 'unexpected', message: 'something went wrong here', hint } };
  };
}

function toResponse({ code, message, hint, data }: CountersignError): ErrorResponse {
  const { retryInMs: wait, signInAt: place, signedIn: who, passkey: asked, grantPasskey: askedToo } = data;
  const retryInMs = typeof wait === 'number' ? wait : undefined;
  const signInAt = typeof place === 'string' ? place : undefined;
  const signedIn = typeof who === 'string' ? who : undefined;
  const passkey = passkeySchema.safeParse(asked).data;
  const grantPasskey = grantPasskeySchema.safeParse(askedToo).data;
  return {
    status: STATUS[code] ?? 500,
    body: { code, message, hint, retryInMs, signInAt, signedIn, passkey, grantPasskey },
  };
}
