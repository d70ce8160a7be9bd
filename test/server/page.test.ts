import { offlineDesk, type TestDesk } from './support';

let desk: TestDesk & { remove(): Promise<void> };
beforeAll(async () => {
  desk = await offlineDesk();
});
afterAll(async () => {
  desk.close();
  await desk.remove();
});

it('is served to anybody, with nothing in it, and can do nothing for anybody else', async () => {
  const response = await desk.ask('/');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const csp = response.headers.get('content-security-policy') ?? '';
  expect(csp.split('; ').sort()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    "require-trusted-types-for 'script'",
    "script-src 'self'",
    "style-src 'self'",
  ]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-cache',
  });
});

it.each(['/api/session', '/api/nothing', '/nothing'])('%s is as well protected', async (path) => {
  const { headers } = await desk.ask(path);
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe(path.startsWith('/api') ? 'no-store' : null);
});

it.each([
  '/..%2f..%2fetc/passwd',
  '/..%2f..%2fpackage.json',
  '/%2e%2e/%2e%2e/package.json',
  '/....//....//package.json',
  '/..\\..\\package.json',
  '/app.js/../../package.json',
  '/app.js%00.html',
  '/users.json',
  '/index.html',
  '/.env',
  '//etc/passwd',
  '/static/app.js',
])('%s is no file of the page', async (path) => {
  expect((await desk.ask(path)).status).toBe(404);
});

it('has no icon, which is no fault', async () => {
  expect((await desk.ask('/favicon.ico')).status).toBe(204);
});

it('says what to do where the page was not built', async () => {
  const response = await desk.ask('/app.js');
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('npm run build');
});
