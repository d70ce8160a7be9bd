import { useOfflineApp } from './support';

const { app, cookie } = useOfflineApp();

const SAID = { text: 'hello', messageId: 'm-1' };

test.each<[string, unknown]>([
  ['messages', {}],
  ['messages', { ...SAID, messageId: '' }],
  ['messages', { ...SAID, messageId: 'a b' }],
  ['messages', { ...SAID, mode: 'shout' }],
  ['messages', { ...SAID, sender: 'ann' }],
  ['messages', { ...SAID, agent: 'a\u202eb' }],
  ['controls', {}],
  ['controls', { action: 'explode' }],
  ['controls', { action: 'close', cancel: false }],
  ['controls', { action: 'pause', sender: 'ann' }],
  ['controls', { action: 'pause', reason: 'x'.repeat(1_001) }],
])('%s refuses %j before anything is sent', async (path, json) => {
  const response = await app().ask(`/api/conversations/s-1/${path}`, { cookie: cookie(), json });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: 'usage' });
});

test.each([
  'open=2',
  'limit=0',
  `older=${'x'.repeat(20_001)}`,
  'limit=201',
  'limit=x',
  'agent=',
  `agent=${'x'.repeat(201)}`,
])('the list refuses ?%s', async (query) => {
  const response = await app().ask(`/api/conversations?${query}`, { cookie: cookie() });
  expect(response.status).toBe(400);
});

const POSTS = ['messages', 'controls'];
const PATHS = ['', '/s-1', '/s-1/events'];

test.each(PATHS)('%j is for who is signed in', async (path) => {
  expect((await app().ask(`/api/conversations${path}`)).status).toBe(401);
});

test.each(POSTS)('%s is for who is signed in, and for the page itself', async (path) => {
  const at = `/api/conversations/s-1/${path}`;
  expect((await app().ask(at, { json: SAID })).status).toBe(401);
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const response = await app().ask(at, { cookie: cookie(), headers, json: SAID });
  expect(response.status).toBe(403);
});

test.each([
  ['messages', SAID],
  ['controls', { action: 'resume' }],
  ['controls', { action: 'compact' }],
])('%s with %j starts turns, which needs a right', async (path, json) => {
  const token = await app().users.add(`ann-${JSON.stringify(json).length}`);
  const headers = { authorization: `Bearer ${token}` };
  const response = await app().ask(`/api/conversations/s-1/${path}`, { headers, json });
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({
    code: 'not_allowed',
    hint: expect.stringContaining('--may-converse'),
  });
});
