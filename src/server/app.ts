import { Hono } from 'hono';
import { CountersignError } from '../contract/errors';
import type { AppDeps } from './deps';
import { limitBody } from './guard/body';
import { noStore, protectiveHeaders } from './guard/headers';
import { requireOwnOrigin } from './guard/origin';
import { requireSignedIn, type Env } from './guard/signed-in';
import { pageRoutes } from './page';
import { decisionRoutes } from './routes/decisions';
import { forkRoutes } from './routes/forks';
import { inboxRoutes } from './routes/inbox';
import { ownSessionRoutes, signInRoutes } from './routes/session';
import { statsRoutes } from './routes/stats';
import { turnRoutes } from './routes/turns';

/** The desk's HTTP app: its page and the API behind it, as `api.ts` tells them. Needs no port: `app.request` asks it. */
export function createApp(deps: AppDeps): Hono<Env> {
  const app = new Hono<Env>();
  app.use(protectiveHeaders());
  app.use(requireOwnOrigin(deps.hosts));
  app.use('/api/*', noStore, limitBody);
  app.route('/api/session', signInRoutes(deps));
  // From here on nobody passes who is not signed in.
  app.use('/api/*', requireSignedIn(deps.door));
  app.route('/api/session', ownSessionRoutes(deps));
  app.route('/api/inbox', inboxRoutes(deps));
  app.route('/api/turns', turnRoutes(deps));
  app.route('/api/turns', decisionRoutes(deps));
  app.route('/api/turns', forkRoutes(deps));
  app.route('/api/stats', statsRoutes(deps));
  app.route('/', pageRoutes(deps));
  app.notFound(() => {
    throw new CountersignError('not_found', 'there is nothing here', { hint: 'open / for the inbox' });
  });
  app.onError((error, c) => {
    const { status, body } = deps.tell(error);
    return c.json(body, status);
  });
  return app;
}
