import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pageRoutes } from '../../src/server/page';

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'countersign-page-'));
  await mkdir(join(parent, 'web'));
  for (const name of [
    'web/index.html',
    'web/app.js',
    'web/two-paths.js',
    'web/icon.png',
    'web/notes.txt',
    'outside.js',
  ])
    await writeFile(join(parent, name), name);
});
afterAll(() => rm(parent, { recursive: true, force: true }));

test.each([
  ['/', 200, 'text/html; charset=utf-8'],
  ['/app.js', 200, 'text/javascript; charset=utf-8'],
  ['/two-paths.js', 200, 'text/javascript; charset=utf-8'],
  ['/icon.png', 200, 'image/png'],
  ['/other.js', 404, undefined],
  ['/notes.txt', 404, undefined],
  ['/..%2foutside.js', 404, undefined],
  ['/%2e%2e/outside.js', 404, undefined],
])('%s is answered with %d', async (path, status, type) => {
  const answer = await pageRoutes({ pageDir: join(parent, 'web') }).request(path);
  expect(answer.status).toBe(status);
  if (type !== undefined) expect(answer.headers.get('content-type')).toBe(type);
});

test('a page that was not built says what to do', async () => {
  const answer = await pageRoutes({ pageDir: join(parent, 'none') }).request('/');
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('npm run build')]);
});
