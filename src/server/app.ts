import { Hono, type MiddlewareHandler } from 'hono';
import { getPath } from 'hono/utils/url';
import { CountersignError } from '../contract/errors';
import { pathUnder } from './address';
import { fewAtOnce } from './auth/few-at-once';
import { requireOwnOrigin } from './auth/origin';
import { requireRole } from './auth/roles';
import type { AppDeps } from './deps';
import { probeRoutes } from './monitoring';
import { protectiveHeaders } from './page';
import { limitBody } from './request-body';
import { needsOf, ROUTES, type Routes } from './routes';
import { type Env, requireSignedIn } from './session';

/**
 * The web inbox's HTTP app: its page and the API behind it, as `api.ts` describes it. The app works without a port:
 * `app.request` sends it a request.
 */
export function createApp(deps: AppDeps, routes: Routes = ROUTES): Hono<Env> {
  const { basePath } = deps;
  const app = new Hono<Env>({ getPath: (request) => pathUnder(basePath, getPath(request)) });
  const add = ({ at, make }: Routes['signedIn'][number]): void => void app.route(at, make(deps, role));
  const { doors, large, open, signedIn, pages } = routes;
  const role = requireRole(needsOf(routes));
  app.use((c, next) => {
    c.set('basePath', basePath);
    // The page asks for its parts beside its own address, so that has to end with a slash.
    return basePath !== '' && getPath(c.req.raw) === basePath
      ? Promise.resolve(c.redirect(`${basePath}/`))
      : next();
  });
  app.use(protectiveHeaders());
  // Probes use the machine's address as the host, which is not one of our names. They learn only whether the process
  // works.
  app.route(
    '/',
    probeRoutes(() => deps.client.client.connection),
  );
  doors.forEach(add);
  app.use(requireOwnOrigin(deps.hosts, deps.authenticator.assertedIn));
  app.use('/api/*', noStore);
  for (const { at } of large) app.use(`${at}/*`, requireSignedIn(deps), role);
  large.forEach(add);
  app.use('/api/*', limitBody);
  open.forEach(add);
  app.use('/api/*', requireSignedIn(deps), fewAtOnce(), role);
  signedIn.forEach(add);
  pages.forEach(add);
  app.notFound(() => {
    throw new CountersignError('not_found', 'there is nothing here', 'open / for the inbox');
  });
  app.onError((error, c) => {
    const { status, body } = deps.formatError(error);
    // Who only asks whether somebody is signed in gets no error status, because a browser would log it.
    const isQuiet = status === 401 && c.req.query('quiet') !== undefined;
    return c.json(body, isQuiet ? 200 : status);
  });
  return app;
}

/** Keeps browsers and proxies from storing answers of the API. */
const noStore: MiddlewareHandler = async (c, next) => {
  await next();
  c.header('Cache-Control', 'no-store');
};
