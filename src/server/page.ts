import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Hono, type Context } from 'hono';
import { compress } from 'hono/compress';
import { isObject } from '../contract/json';
import type { AppDeps } from './deps';
import type { Env } from './guard/signed-in';

/** Everything the page is made of; no other file is ever read. */
const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/app.css': ['app.css', 'text/css; charset=utf-8'],
} as const;

/** The built page. */
export function pageRoutes({ pageDir }: Pick<AppDeps, 'pageDir'>): Hono<Env> {
  const routes = new Hono<Env>();
  routes.use(compress());
  for (const [path, [name, type]] of Object.entries(FILES)) {
    routes.get(path, async (c) => {
      const body = await readBuilt(join(pageDir, name));
      return body === undefined
        ? notBuilt(c)
        : c.body(body, 200, { 'Content-Type': type, 'Cache-Control': 'no-cache' });
    });
  }
  // Browsers ask for it unasked; a page without one is no fault to log.
  routes.get('/favicon.ico', (c) => c.body(null, 204));
  return routes;
}

async function readBuilt(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isObject(error) && error['code'] === 'ENOENT') return undefined;
    throw error;
  }
}

function notBuilt(c: Context): Response {
  return c.text('The page is not built. In a clone run `npm run build`, then reload.\n', 503);
}
