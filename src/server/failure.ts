import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { CountersignError, type ErrorCode } from '../contract/errors';
import { defined } from '../history/defined';
import type { ApiError } from './api';

/** What is not named here is a mistake of ours: 500. */
const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  usage: 400,
  signed_out: 401,
  forbidden: 403,
  not_found: 404,
  turn_not_found: 404,
  call_not_found: 404,
  ambiguous_id: 404,
  fork_refused: 409,
  not_a_turn: 409,
  too_large: 413,
  not_json: 415,
  too_many_attempts: 429,
  server_failed: 502,
  no_server: 503,
  namespace_missing: 503,
  not_ready: 503,
};

/** A failure as the API tells it. */
export interface Told {
  status: ContentfulStatusCode;
  body: ApiError;
}

/** Tells errors to whoever asked. */
export type Tell = (error: unknown) => Told;

/** What is no error of ours tells the asker nothing of itself; `report` is given it instead. */
export function createTell(report: (error: unknown) => void): Tell {
  return (error) => {
    if (error instanceof CountersignError) return toldOf(error);
    report(error);
    const hint = 'this is not your mistake; the terminal that runs countersign says more';
    return { status: 500, body: { code: 'unexpected', message: 'something went wrong here', hint } };
  };
}

function toldOf({ code, message, hint }: CountersignError): Told {
  return { status: STATUS[code] ?? 500, body: { code, message, ...defined({ hint }) } };
}
