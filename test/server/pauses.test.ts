import type { Countersign } from '../../src/client';
import { EVERYTHING, type Permit } from '../../src/authority/rules/permits';
import { createTestApp, unreachable } from './support';

const asked: [string, unknown][] = [];
const client = new Proxy<Countersign>(unreachable(), {
  get: (target, name: string) =>
    name === 'pause' || name === 'resume'
      ? async (said: unknown) => {
          asked.push([name, said]);
          return name === 'pause' ? { pause: said } : [];
        }
      : Reflect.get(target, name),
});

/** The status of a request by ann with this permit. */
async function post(path: string, json: object, permit: Permit = EVERYTHING): Promise<number> {
  const app = await createTestApp(client, { people: async () => ({ permitOf: () => permit }) });
  try {
    const headers = { authorization: `Bearer ${await app.users.add('ann', [])}` };
    return (await app.ask(path, { headers, json })).status;
  } finally {
    await app.remove();
  }
}

beforeEach(() => {
  asked.length = 0;
});

it('pauses and resumes in the name of who is signed in', async () => {
  expect(await post('/api/pauses', { tool: 'pay', reason: 'an incident' })).toBe(200);
  expect(await post('/api/pauses/end', { tool: 'pay' })).toBe(200);
  expect(asked).toEqual([
    ['pause', { tool: 'pay', reason: 'an incident', by: 'ann' }],
    ['resume', { tool: 'pay', by: 'ann' }],
  ]);
});

it.each([
  ['a pause without a reason', 'admin', 'all', '/api/pauses', { tool: 'pay', reason: '' }, 400],
  ['a pause in another name', 'admin', 'all', '/api/pauses', { reason: 'x', by: 'eve' }, 400],
  ['a pause by a viewer', 'viewer', 'all', '/api/pauses', { reason: 'x' }, 403],
  ['the end of a pause by an approver', 'approver', 'all', '/api/pauses/end', {}, 403],
  ['a pause of agents that one does not see', 'approver', ['lab'], '/api/pauses', { reason: 'x' }, 403],
] as const)('refuses %s', async (_what, role, agents, path, json, status) => {
  expect(await post(path, json, { role, agents })).toBe(status);
  expect(asked).toEqual([]);
});

it('lets an approver pause an agent that they see', async () => {
  const permit: Permit = { role: 'approver', agents: ['lab'] };
  expect(await post('/api/pauses', { agent: 'lab', reason: 'x' }, permit)).toBe(200);
});
