import { z } from 'zod';
import { type CountersignError, errorMessage } from '../contract/errors';
import { SECOND } from '../contract/limits';
import { notifyFailure } from './notices';

/** The time to wait after a refused token, because Slack notices repeated attempts with one. */
const REFUSED_TOKEN_MS = 15 * 60 * SECOND;
const REFUSED_MS = 60 * 60 * SECOND;

const errorSchema = z.object({
  code: z.string(),
  retryAfter: z.number().optional(),
  data: z.object({ error: z.string(), needed: z.string().optional() }).optional(),
  statusCode: z.number().optional(),
});

const BAD_TOKEN = [
  ...['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked', 'token_expired', 'no_permission'],
  ...[
    'missing_scope',
    'not_allowed_token_type',
    'access_denied',
    'org_login_required',
    'team_access_not_granted',
  ],
];
const LATER = [
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
];

/** The error, in words without a token. */
export function inWords(error: unknown): CountersignError {
  const { code, retryAfter, data, statusCode } = errorSchema.safeParse(error).data ?? { code: '' };
  if (code === 'slack_webapi_rate_limited_error' || data?.error === 'ratelimited')
    return notifyFailure('Slack wants fewer messages', {
      retryInMs: (retryAfter ?? 30) * SECOND,
      holdsAll: true,
      isRefused: true,
    });
  if (data) {
    const why = data.needed === undefined ? data.error : `${data.error} (${data.needed})`;
    if (LATER.includes(data.error)) return notifyFailure(`Slack failed: ${why}`);
    const lacksScope = data.error === 'missing_scope';
    if (BAD_TOKEN.includes(data.error))
      return notifyFailure(`Slack refused the token: ${why}`, {
        retryInMs: REFUSED_TOKEN_MS,
        holdsAll: true,
        isRefused: true,
        lacksScope,
      });
    return notifyFailure(`Slack refused it: ${why}`, { retryInMs: REFUSED_MS, isRefused: true });
  }
  if (statusCode !== undefined) return notifyFailure(`Slack answered ${statusCode}`);
  return notifyFailure(`Slack could not be reached: ${errorMessage(error)}`);
}
