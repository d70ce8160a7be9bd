import { Hono } from 'hono';
import { html } from 'hono/html';
import type { FormatError } from './failure';
import { CALLBACK } from './auth/oidc';
import type { AppDeps } from './deps';
import { type Env, openInboxSession, signInCookie } from './session';

/** The page at which signing in at the issuer begins. */
export const SIGN_IN = '/sign-in';

/**
 * The routes of a sign-in at an issuer: one leads to the issuer, the other comes back from it. The browser opens both
 * as pages, so failures are shown as pages too.
 */
export function issuerRoutes(deps: AppDeps): Hono<Env> {
  const { oidc, authenticator } = deps;
  const routes = new Hono<Env>();
  if (oidc === undefined) return routes;
  return routes
    .use(`${SIGN_IN}/*`, async (c, next) => {
      await next();
      c.header('Cache-Control', 'no-store');
    })
    .get(SIGN_IN, async (c) => {
      const cookie = signInCookie(c);
      const { url, secret } = await oidc.begin(cookie.isAnew());
      cookie.set(secret);
      return c.redirect(url);
    })
    .get(CALLBACK, async (c) => {
      const cookie = signInCookie(c);
      const secret = cookie.read();
      cookie.clear();
      const identity = await oidc.finish(new URL(c.req.url).search, secret);
      openInboxSession(c, await authenticator.signInAs(identity));
      return c.redirect(`${deps.basePath}/`);
    })
    .onError((error, c) => {
      const failure = deps.formatError(error);
      return c.html(failurePage(failure, deps.basePath), failure.status);
    });
}

/** The page that says why a sign-in failed. Everything in it is escaped. */
function failurePage({ body: { code, message, hint = '' } }: ReturnType<FormatError>, base: string) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Not signed in · Countersign</title>
        <link rel="stylesheet" href="${base}/app.css" />
      </head>
      <body>
        <main class="sign-in">
          <div class="card">
            <h1 class="brand">Countersign</h1>
            <p role="alert" class="problem">You are not signed in: ${message}.</p>
            <p>${hint}</p>
            <p class="quiet">Code: <code>${code}</code></p>
            <p><a href="${base}${SIGN_IN}">Try again</a> · <a href="${base}/">Back to the web inbox</a></p>
          </div>
        </main>
      </body>
    </html>`;
}
