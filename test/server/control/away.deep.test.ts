import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { inboxAwaySigner, inboxSigner, openInboxKey } from '../../../src/authority/inbox-key';
import { type ApproversSource, openApprovers } from '../../../src/authority/source';
import { connect, type Countersign } from '../../../src/client';
import { defineAgent } from '../../../src/tools/define-agent';
import { recordTool, useEffects } from '../../support/effects';
import { type Fixture, startFixture } from '../../support/fixture';
import { scriptBook } from '../../support/script-book';
import { waitFor } from '../../support/turns';
import { createTestApp } from '../support';

const effects = useEffects();
const book = scriptBook();
const HOUR = 3_600_000;
const answerForm = z.object({ id: z.string().optional(), code: z.string().optional() });
const tokens = new Map<string, string>();
let fixture: Fixture;
let client: Countersign;
let app: Awaited<ReturnType<typeof createTestApp>>;
let approvers: ApproversSource;

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  const file = join(fixture.directory, 'approvers.yaml');
  await writeFile(
    file,
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { dora: {}, xena: { mail: xena@example.org }, vic: {}, boss: {} }
roles: { admins: [boss], viewers: [vic] }
inboxKeys: ['${key.line}']
rules:
  - { name: here, tools: [note], then: ask, approvers: { any: [dora] }, assurance: signed_in }
  - { name: default, then: by_safety }
`,
  );
  const note = recordTool(effects, { name: 'note', safety: 'dangerous' });
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [note] });
  await fixture.addWorker({}, { agents: [clerk], approvers: file });
  client = await connect({ client: fixture.client });
  approvers = await openApprovers({ file, warn: () => undefined });
  const people = () => approvers.current();
  const [signer, awaySigner] = [inboxSigner({ key, approvers }), inboxAwaySigner({ key, approvers })];
  app = await createTestApp(client, { signers: { signer, awaySigner }, people, voters: people });
  for (const name of ['dora', 'xena', 'vic', 'boss', 'eve']) tokens.set(name, await app.users.add(name, []));
});
afterAll(() => app.remove());
afterEach(async () => {
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
});

const ask = (name: string, path: string, json?: unknown, method?: string): Promise<Response> =>
  app.ask(path, {
    headers: { authorization: `Bearer ${tokens.get(name) ?? ''}` },
    ...(json === undefined ? {} : { json }),
    ...(method === undefined ? {} : { method }),
  });
const end = (): string => new Date(Date.now() + HOUR).toISOString();
const leave = (name: string, to: string, more: object = {}): Promise<Response> =>
  ask(name, '/api/away', { to, end: end(), ...more });
const read = async (response: Response) => answerForm.parse(await response.json());
const entryOf = async (response: Response): Promise<string> => (await read(response)).id ?? '';

async function asked(tag: string): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name: 'note', arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}
async function approve(name: string, turn: string, more: object = {}): Promise<Response> {
  const { seenDigest, callKey } = (await client.view(turn)).calls[0]?.request ?? {};
  const json = { callId: '1.1', seenDigest, callKey, decision: 'approved', ...more };
  return ask(name, `/api/turns/${turn}/decisions`, json);
}

test('who stands in for somebody decides as the page always sends it, signed in', async () => {
  const left = await leave('dora', 'XENA@example.org', { reason: 'holiday' });
  expect(left.status).toBe(200);
  const entry = await entryOf(left);
  expect(await (await ask('vic', '/api/away')).json()).toMatchObject({
    entries: [{ from: 'dora', to: 'xena', reason: 'holiday', signature: { kind: 'inbox' } }],
  });
  const turn = await asked('stood in');
  expect(await (await ask('xena', '/api/inbox?mine=1')).json()).toMatchObject({ matching: 1 });
  expect((await approve('xena', turn)).status).toBe(200);
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('stood in')).toEqual(['note stood in']);
  const inPlaceOf = { person: 'dora', entry };
  expect((await client.view(turn)).calls[0]?.votes).toEqual([
    { voter: 'xena', decision: 'approved', inPlaceOf, signedBy: 'inbox' },
  ]);
});

test('nobody decides in a place that is not known here, whatever the page sends', async () => {
  const turn = await asked('made up');
  const inPlaceOf = { person: 'dora', entry: 'made-up' };
  const named = await approve('xena', turn, { inPlaceOf });
  expect([named.status, (await read(named)).code]).toEqual([403, 'not_allowed']);
  expect((await approve('xena', turn)).status).toBe(409);
  const entry = await entryOf(await leave('dora', 'xena'));
  expect((await ask('dora', `/api/away/${entry}`, undefined, 'DELETE')).status).toBe(200);
  expect((await approve('xena', turn)).status).toBe(409);
  expect((await approve('dora', turn)).status).toBe(200);
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('made up')).toEqual(['note made up']);
});

test.each<[string, () => Promise<Response>, number, string]>([
  ['a viewer leaves', () => leave('vic', 'dora'), 403, 'not_allowed'],
  ['somebody leaves who is not in the file', () => leave('eve', 'dora'), 403, 'not_allowed'],
  ['the delegate is not in the file', () => leave('dora', 'eve'), 400, 'usage'],
  ['somebody puts another away', () => leave('dora', 'xena', { from: 'boss' }), 400, 'usage'],
  ['the reason is long', () => leave('dora', 'xena', { reason: 'ü'.repeat(251) }), 400, 'usage'],
  ['it is over already', () => leave('dora', 'xena', { end: '2020-01-01T00:00:00Z' }), 409, 'away_refused'],
  ['there is no such entry', () => ask('boss', '/api/away/none', undefined, 'DELETE'), 404, 'away_not_found'],
])('nothing changes where %s', async (_case, act, status, code) => {
  const response = await act();
  expect([response.status, (await read(response)).code]).toEqual([status, code]);
  expect((await client.away.list()).entries).toEqual([]);
});

test('somebody else ends it only as an admin', async () => {
  const path = `/api/away/${await entryOf(await leave('dora', 'xena'))}`;
  expect((await ask('xena', path, undefined, 'DELETE')).status).toBe(403);
  expect((await ask('boss', path, undefined, 'DELETE')).status).toBe(200);
  expect((await client.away.list()).entries).toEqual([]);
});
