import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inboxSigner, openInboxKey } from '../../src/authority/signatures/inbox-key';
import { openApprovers } from '../../src/authority/rules/current-file';
import { connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { createTestApp } from './support';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let signing: Awaited<ReturnType<typeof createTestApp>>;
let plain: typeof signing;

beforeAll(async () => {
  fixture = await startFixture({});
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  const file = join(fixture.directory, 'approvers.yaml');
  await writeFile(
    file,
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { owner: {} }
inboxKeys: ['${key.line}']
rules:
  - { name: here, tools: [note], then: ask, assurance: signed_in }
  - { name: own key, tools: [pay], then: ask, assurance: signed }
  - { name: default, then: by_safety }
`,
  );
  const tools = ['note', 'pay'].map((name) => recordTool(effects, { name, safety: 'dangerous' }));
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [clerk], approvers: file });
  client = await connect({ address: testAddress() });
  const approvers = await openApprovers({ file, warn: () => undefined });
  signing = await createTestApp(client, { signers: { signer: inboxSigner({ key, approvers }) } });
  plain = await createTestApp(client);
});
afterAll(async () => {
  await Promise.all([signing.remove(), plain.remove()]);
  await client.close();
});

async function asked(name: string, tag: string) {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

async function decide(app: typeof signing, turn: string, decision: string, more: object = {}) {
  const request = (await client.view(turn)).calls[0]?.request;
  const { seenDigest, callKey } = request ?? {};
  const json = { callId: '1.1', seenDigest, callKey, decision, ...more };
  return app.ask(`/api/turns/${turn}/decisions`, { json, cookie: await app.signIn() });
}

test('what the page showed is signed without reading the turn again', async () => {
  const turn = await asked('note', 'shown');
  const { seenDigest, callKey } = (await client.view(turn)).calls[0]?.request ?? {};
  const cookie = await signing.signIn();
  const decision = { callId: '1.1', callKey, decision: 'approved' };
  const read = jest.spyOn(client, 'view');
  try {
    expect((await signing.ask(`/api/turns/${turn}/calls/1.1`, { cookie })).status).toBe(200);
    expect(read).toHaveBeenCalledTimes(1);
    // Of something else than was shown, the turn says what is wrong with it.
    const other = { json: { ...decision, seenDigest: '0'.repeat(64) }, cookie };
    expect((await signing.ask(`/api/turns/${turn}/decisions`, other)).status).toBe(409);
    expect(read).toHaveBeenCalledTimes(2);
    const same = { json: { ...decision, seenDigest }, cookie };
    expect((await signing.ask(`/api/turns/${turn}/decisions`, same)).status).toBe(200);
    expect(read).toHaveBeenCalledTimes(2);
  } finally {
    read.mockRestore();
  }
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('shown')).toEqual(['note shown']);
  expect((await client.view(turn)).calls[0]?.votes).toMatchObject([{ voter: 'owner', signedBy: 'inbox' }]);
});

test('what somebody who is signed in approves counts as signed in', async () => {
  const turn = await asked('note', 'here');
  expect((await decide(signing, turn, 'approved', { reason: 'fine' })).status).toBe(200);
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('here')).toEqual(['note here']);
  expect((await client.view(turn)).calls[0]?.votes).toEqual([
    { voter: 'owner', decision: 'approved', signedBy: 'inbox', at: expect.any(String) },
  ]);
});

test.each<[string, string, () => typeof signing, RegExp]>([
  ['the own key of the approver', 'pay', () => signing, /takes the approver's own key/],
  ['a web inbox that signs', 'note', () => plain, /this web inbox signs none/],
])('what a rule wants that this web inbox cannot give is refused: %s', async (_, tool, app, why) => {
  const turn = await asked(tool, 'refused');
  const response = await decide(app(), turn, 'approved');
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({
    code: 'signature_needed',
    message: expect.stringMatching(why),
  });
  expect((await client.view(turn)).calls[0]).toMatchObject({ phase: 'request', decisions: [] });
  expect((await decide(app(), turn, 'denied', { reason: 'no' })).status).toBe(200);
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('refused')).toEqual([]);
});

test('a page cannot bring a signature of its own', async () => {
  const turn = await asked('note', 'brought');
  const signature = { kind: 'inbox', armored: 'x', at: '', notAfter: '' };
  expect((await decide(signing, turn, 'approved', { signature })).status).toBe(400);
});
