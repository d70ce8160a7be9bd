import { Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../system/files';
import type { AppDeps } from './deps';
import type { Env } from './session';

const SCRIPTS = [
  'account',
  'asks',
  'app',
  'bulk',
  'chips',
  'composer',
  'conversation',
  'conversations',
  'decided',
  'doubt',
  'grant',
  'grants',
  'moment',
  'passkeys',
  'picture',
  'push',
  'push-worker',
  'question',
  'scrubber',
  'stats',
  'syntax',
  'today',
  'turn',
  'turns',
  'two-paths',
  'votes',
  'writer',
];

/** All files of the page, by path, with their types. No other file is ever read. */
const FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  ...Object.fromEntries(
    SCRIPTS.map((name) => [`/${name}.js`, [`${name}.js`, 'text/javascript; charset=utf-8'] as const]),
  ),
  '/app.css': ['app.css', 'text/css; charset=utf-8'],
  '/manifest.webmanifest': ['manifest.webmanifest', 'application/manifest+json; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
  '/icon.png': ['icon.png', 'image/png'],
};

/** The routes of the built page. */
export function pageRoutes({ pageDir }: Pick<AppDeps, 'pageDir'>): Hono<Env> {
  const routes = new Hono<Env>();
  // A browser that opens the page again asks whether the page has changed. If it has not, the answer has no body.
  routes.use(compress(), etag());
  for (const [path, [name, type]] of Object.entries(FILES)) {
    routes.get(path, async (c) => {
      const body = await unlessMissing(readFile(join(pageDir, name)));
      return body === undefined
        ? c.text('The page is not built. In a clone run `npm run build`, then reload.\n', 503)
        : c.body(new Uint8Array(body), 200, { 'Content-Type': type, 'Cache-Control': 'no-cache' });
    });
  }
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
