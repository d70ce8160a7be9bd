import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pageRoutes } from '../../src/server/page';

const SOURCES = join(__dirname, '..', '..', 'src', 'web');
const routes = pageRoutes({ pageDir: join(__dirname, 'none') });

/** What the page loads late: each is a script of its own, by its name. */
const late = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .flatMap((file) => [...readFileSync(join(SOURCES, file), 'utf8').matchAll(/\bimport\('([^']+)'\)/g)])
  .map(([, path = '']) => basename(path));

test('each script that the page loads late has a route', async () => {
  const names = [...new Set(late)];
  expect(names).toContain('account');
  const asked = names.map(async (name) => [name, (await routes.request(`/${name}.js`)).status] as const);
  // 404 is no file of the page; here the page is not built.
  expect((await Promise.all(asked)).filter(([, status]) => status === 404)).toEqual([]);
});

test('no other file has one', async () => {
  expect((await routes.request('/other.js')).status).toBe(404);
});
