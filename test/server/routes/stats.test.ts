import { offlineDesk } from '../support';

let desk: Awaited<ReturnType<typeof offlineDesk>>;

beforeAll(async () => {
  desk = await offlineDesk();
});

afterAll(() => desk.remove());

test.each([
  'limit=0',
  'limit=501',
  'limit=many',
  'since=-1',
  'since=7d',
  'since=1e300',
  'tool=',
  `agent=${'a'.repeat(201)}`,
])('stats with %s are refused', async (query) => {
  const response = await desk.ask(`/api/stats?${query}`, { cookie: await desk.signIn() });
  expect([response.status, await response.json()]).toMatchObject([400, { code: 'usage' }]);
});

test('stats are for who is signed in', async () => {
  expect((await desk.ask('/api/stats')).status).toBe(401);
});
