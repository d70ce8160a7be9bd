import type { Context } from 'hono';
import { CountersignError } from '../../contract/errors';
import { USER_HEADER } from '../../contract/names';

/**
 * Refuses what a page sends that shows another person as signed in. Somebody may have signed in since in another tab of
 * the browser, and both tabs have one cookie.
 *
 * @throws CountersignError `signed_out`.
 */
export function requireShownUser(c: Context, user: string): void {
  const shown = c.req.header(USER_HEADER);
  if (shown === undefined || shown === encodeURIComponent(user)) return;
  throw new CountersignError('signed_out', 'somebody else has signed in here since', {
    hint: 'sign in again; or load the page again to see who is signed in',
  });
}
