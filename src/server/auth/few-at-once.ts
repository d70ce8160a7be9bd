import type { MiddlewareHandler } from 'hono';
import { CountersignError } from '../../contract/errors';
import type { Env } from '../deps';

/** Many times what the tabs of a person send. Some of their requests keep the Temporal server busy for seconds. */
const AT_ONCE = 200;

/**
 * Lets at most `most` requests of one user be answered at once. A request counts until its answer begins, even if
 * nobody waits for the answer any more. A stream therefore counts only until it opens.
 */
export function fewAtOnce(most = AT_ONCE, what = 'requests'): MiddlewareHandler<Env> {
  const open = new Map<string, number>();
  return async (c, next) => {
    const { user } = c.get('who');
    const before = open.get(user) ?? 0;
    if (before >= most)
      throw new CountersignError(
        'too_many_attempts',
        `${most} ${what} of yours are under way already`,
        'try again once they are done',
      );
    open.set(user, before + 1);
    try {
      await next();
    } finally {
      const left = (open.get(user) ?? 1) - 1;
      if (left === 0) open.delete(user);
      else open.set(user, left);
    }
  };
}
