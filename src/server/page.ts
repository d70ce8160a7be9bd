import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../system/files';
import type { AppDeps } from './deps';
import type { Env } from './session';

/** The types of the files of the page, by the ends of their names. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  webmanifest: 'application/manifest+json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
};

/** The routes of the built page. A name of the pattern stays within its folder. */
export function pageRoutes({ pageDir }: Pick<AppDeps, 'pageDir'>): Hono<Env> {
  const answer = async (c: Context<Env>, name: string): Promise<Response | undefined> => {
    const body = await unlessMissing(readFile(join(pageDir, name)));
    const type = TYPES[name.slice(name.indexOf('.') + 1)] ?? '';
    const headers = { 'Content-Type': type, 'Cache-Control': 'no-cache' };
    return body && c.body(new Uint8Array(body), 200, headers);
  };
  const unbuilt = 'The page is not built. In a clone run `npm run build`, then reload.\n';
  const routes = new Hono<Env>();
  // A browser that opens the page again asks whether the page has changed. If it has not, the answer has no body.
  routes.use(compress(), etag());
  routes.get('/', async (c) => (await answer(c, 'index.html')) ?? c.text(unbuilt, 503));
  routes.get('/:file{[a-z-]+\\.(?:js|css|webmanifest|svg|png)}', async (c, next) => {
    return (await answer(c, c.req.param('file'))) ?? next();
  });
  // Browsers ask for this icon by themselves, but the page names its own icons.
  routes.get('/favicon.ico', (c) => c.body(null, 204));
  return routes;
}

const SELF = ["'self'"];
const NONE = ["'none'"];

/** Headers that let a browser run, load and send only what belongs to this page. */
export function protectiveHeaders(): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: NONE,
      scriptSrc: SELF,
      styleSrc: SELF,
      imgSrc: SELF,
      manifestSrc: SELF,
      connectSrc: SELF,
      baseUri: NONE,
      formAction: NONE,
      frameAncestors: NONE,
      requireTrustedTypesFor: ["'script'"],
    },
    xFrameOptions: 'DENY',
    crossOriginOpenerPolicy: 'same-origin',
    crossOriginResourcePolicy: 'same-origin',
    referrerPolicy: 'no-referrer',
    // Only the proxy knows whether its host name is always served over https.
    strictTransportSecurity: false,
  });
}
