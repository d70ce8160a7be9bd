import { offlineDesk } from '../support';

let desk: Awaited<ReturnType<typeof offlineDesk>>;
let cookie: string;

beforeAll(async () => {
  desk = await offlineDesk();
  cookie = await desk.signIn();
});

afterAll(() => desk.remove());

const path = '/api/turns/t/forks';
const ask = (json: unknown): Promise<Response> => desk.ask(path, { cookie, json });

test.each<[string, unknown, string]>([
  ['no place', {}, 'at'],
  ['an empty place', { at: '' }, 'at'],
  ['a world by name', { at: '1.1', world: 'live' }, 'world'],
  ['somebody else who decides', { at: '1.1', change: decided({ approver: 'boss' }) }, 'approver'],
  ['a decision that is none', { at: '1.1', change: decided({ decision: 'modified' }) }, 'decision'],
  ['a reason that deceives', { at: '1.1', change: decided({ reason: 'a\u0007b' }) }, 'control'],
  ['a reason without end', { at: '1.1', change: decided({ reason: 'x'.repeat(5_000) }) }, 'bytes'],
  ['arguments that are a list', { at: '1.1', change: { what: 'arguments', arguments: [1] } }, 'object'],
  ['two changes in one', { at: '1.1', change: decided({ arguments: {} }) }, 'arguments'],
  ['a change of nothing known', { at: '1.1', change: { what: 'history' } }, 'what'],
  ['calls without a tool', { at: '1.1', change: { what: 'reply', reply: { calls: [{}] } } }, 'tool'],
  ['a queue of its own', { at: '1.1', taskQueue: 'mine' }, 'taskQueue'],
  ['live by a word', { at: '1.1', live: 'yes' }, 'live'],
])('a fork with %s is refused', async (_name, json, named) => {
  const response = await ask(json);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: 'usage', message: expect.stringContaining(named) });
});

test.each([
  ['without a session', { json: { at: '1.1' } }, 401, 'signed_out'],
  [
    'from another origin',
    { json: { at: '1.1' }, headers: { origin: 'https://evil.example' } },
    403,
    'forbidden',
  ],
  ['as a form', { body: 'at=1.1', headers: { 'content-type': 'text/plain' } }, 415, 'not_json'],
])('a fork %s is refused', async (name, options, status, code) => {
  const response = await desk.ask(path, { ...options, ...(name === 'without a session' ? {} : { cookie }) });
  expect([response.status, await response.json()]).toMatchObject([status, { code }]);
});

function decided(more: object): object {
  return { what: 'decision', decision: 'denied', ...more };
}
