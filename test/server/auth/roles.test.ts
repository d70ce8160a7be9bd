import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import type { Countersign } from '../../../src/client';
import { type Role, ROLES } from '../../../src/authority/rules/permits';
import { CountersignError } from '../../../src/contract/errors';
import type { Needed } from '../../../src/server/auth/roles';
import { needsOf, ROUTES } from '../../../src/server/routes';
import { createTestApp } from '../support';

const FILE = `installation: 0123456789abcdef0123456789abcdef
people:
  ada: { groups: [leads] }
  ben: {}
  vera: {}
roles: { admins: [group:leads], viewers: [vera] }
rules: [{ name: default, then: by_safety }]
`;
const PERSON: Readonly<Record<Role, string>> = { admin: 'ada', approver: 'ben', viewer: 'vera' };

const NEEDS = needsOf(ROUTES);

let app: Awaited<ReturnType<typeof createTestApp>>;
let tokens: Record<string, string>;
let people = parseApprovers(FILE, 'a.yaml');
/** What reached the client. */
let reached: string[];

/** A turn that `ben` asked for, one of nobody, and a conversation in which `ben` wrote. */
const client = new Proxy<Countersign>(Object.create(null), {
  get: (_: object, name: string) => {
    if (name === 'namespace') return 'default';
    if (name === 'find') return async (turn: string) => turn;
    if (name === 'view')
      return async (turn: string) => {
        if (turn === 'none') throw new CountersignError('not_found', turn);
        return { origin: turn === 'his' ? { requester: 'ada', others: ['ben'] } : undefined };
      };
    if (name === 'session')
      return (id: string) => ({
        history: async () => ({ messages: id === 'his' ? [{ sender: 'ben' }, {}] : [{ sender: 'ada' }] }),
        pause: async () => void reached.push('pause'),
      });
    return async () => void reached.push(name);
  },
});

beforeAll(async () => {
  app = await createTestApp(client, { people: async () => people });
  tokens = {};
  for (const name of [...Object.values(PERSON), 'stranger'])
    tokens[name] = await app.users.add(name, ['converse', 'fork-live']);
});
afterAll(async () => {
  app.close();
  await app.remove();
});
beforeEach(() => {
  reached = [];
  people = parseApprovers(FILE, 'a.yaml');
});

const ask = (name: string, route: string, json?: unknown, ids = 'x'): Promise<Response> => {
  const [method = '', path = ''] = route.split(' ');
  return app.ask(path.replace(/:turn|:session/, ids).replace(':callId', '1.1'), {
    method,
    headers: { authorization: `Bearer ${tokens[name] ?? ''}` },
    ...(method === 'POST' ? { json: json ?? {} } : {}),
  });
};
const refusedByRole = async (response: Response): Promise<boolean> => {
  if (response.status === 403) return (await response.text()).includes('the approvers file makes you');
  // A stream is left open.
  await response.body?.cancel();
  return false;
};

const isOfApi = (path: string): boolean => path.startsWith('/api/') || path.startsWith('/ag-ui/');

it('has an entry for each route of the API, and no others', () => {
  const routes = app.routes.filter(({ method, path }) => method !== 'ALL' && isOfApi(path));
  expect([...new Set(routes.map(({ method, path }) => `${method} ${path}`))].sort()).toEqual(
    [...NEEDS.keys()].sort(),
  );
  expect(routes.length).toBeGreaterThan(20);
});

it('has no route elsewhere that changes anything', () => {
  const writes = app.routes.filter(({ method, path }) => !['ALL', 'GET'].includes(method) && !isOfApi(path));
  expect(writes).toEqual([]);
});

/** Whether a role may, where it is nothing of their own. */
const may = (role: Role, needed: Needed): boolean =>
  needed === 'own' ? role === 'admin' : ROLES.indexOf(role) >= ROLES.findIndex((one) => one === needed);

const cases = [...NEEDS]
  .filter(([, needed]) => needed !== 'anybody' && needed !== 'worker')
  .flatMap(([route, needed]) => ROLES.map((role) => [role, may(role, needed), route] as const));

it.each(cases)('lets a %s: %s, use %s', async (role, isAllowed, route) => {
  const response = await ask(PERSON[role], route);
  expect(await refusedByRole(response)).toBe(!isAllowed);
});

it.each<[string, string, unknown]>([
  [
    'decide',
    'decisions',
    { callId: '1.1', callKey: 'k', seenDigest: 'a'.repeat(64), decisionId: 'd', decision: 'approved' },
  ],
  ['resolve', 'resolutions', { callId: '1.1', callKey: 'k', decisionId: 'd', resolution: 'run-again' }],
  ['answer', 'answers', { callId: '1.1', callKey: 'k', decisionId: 'd', answer: 'declined' }],
  [
    'have asked again',
    'ask-again',
    {
      ...{ callId: '1.1', callKey: 'k', decisionId: 'd', reason: 'r' },
      seenDigest: 'a'.repeat(64),
      decision: 'ask-again',
    },
  ],
  ['cancel', 'cancel', {}],
  ['fork', 'forks', { at: '1.1' }],
])('lets a viewer %s nothing, however well it is put', async (_case, path, json) => {
  const response = await ask('vera', `POST /api/turns/:turn/${path}`, json);
  expect(await refusedByRole(response)).toBe(true);
  expect(reached).toEqual([]);
});

it.each([
  ['ben', 'decisions', 'ask-again', 400],
  ['ben', 'ask-again', 'ask-again', 403],
  ['ada', 'decisions', 'ask-again', 400],
  ['ada', 'ask-again', 'approved', 400],
])('takes from %s by the route %s no decision %s: %d', async (name, path, decision, status) => {
  const seenDigest = 'a'.repeat(64);
  const json = { callId: '1.1', callKey: 'k', decisionId: 'd', reason: 'r', seenDigest, decision };
  expect((await ask(name, `POST /api/turns/:turn/${path}`, json)).status).toBe(status);
  expect(reached).toEqual([]);
});

it('lets people who are not in the file look only', async () => {
  expect(await refusedByRole(await ask('stranger', 'POST /api/turns/:turn/forks', { at: '1.1' }))).toBe(true);
  expect((await ask('stranger', 'GET /api/session')).status).toBe(200);
});

it.each([
  ['ben', 'his', 204],
  ['ben', 'hers', 403],
  ['ben', 'none', 404],
  ['ada', 'hers', 204],
  ['vera', 'his', 403],
])('lets %s cancel the turn %s: %d', async (name, turn, status) => {
  expect((await ask(name, 'POST /api/turns/:turn/cancel', {}, turn)).status).toBe(status);
  expect(reached).toEqual(status === 204 ? ['cancel'] : []);
});

it.each([
  ['ben', 'his', 204],
  ['ben', 'hers', 403],
  ['ada', 'his', 204],
])('lets %s pause the conversation %s: %d', async (name, session, status) => {
  const response = await ask(name, 'POST /api/conversations/:session/controls', { action: 'pause' }, session);
  expect(response.status).toBe(status);
  expect(reached).toEqual(status === 204 ? ['pause'] : []);
});

it('reads the id as the route does, so that it judges what is acted on', async () => {
  expect((await ask('ben', 'POST /api/turns/:turn/cancel', {}, 'h%69s')).status).toBe(204);
  expect((await ask('ben', 'POST /api/turns/:turn/cancel', {}, 'his%2f..%2fhers')).status).toBe(403);
});

it('tells the page the role, and takes a changed file at once', async () => {
  const roleOf = async (name: string): Promise<unknown> => (await ask(name, 'GET /api/session')).json();
  expect(await roleOf('ben')).toMatchObject({ role: 'approver' });
  expect(await roleOf('ben')).not.toHaveProperty('agents');
  people = parseApprovers(`${FILE}visibility: { ben: [b, a] }\n`.replace('[vera]', '[ben]'), 'a.yaml');
  expect(await roleOf('ben')).toMatchObject({ role: 'viewer', agents: ['a', 'b'] });
  expect(await roleOf('vera')).toMatchObject({ role: 'approver', agents: [] });
});

it('lets who started the web inbox do everything: they can from the command line', async () => {
  const cookie = await app.signIn();
  expect(await (await app.ask('/api/session', { cookie })).json()).toMatchObject({ role: 'admin' });
});

it('needs nobody to be in a role where the file has none', async () => {
  people = parseApprovers(FILE.replace(/^roles.*\n/m, ''), 'a.yaml');
  expect((await ask('vera', 'POST /api/turns/:turn/cancel', {}, 'hers')).status).toBe(204);
});
