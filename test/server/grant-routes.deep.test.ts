import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inboxGrantSigner, inboxSigner, openInboxKey } from '../../src/authority/signatures/inbox-key';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { passkeyGrantSigner, passkeySigner } from '../../src/authority/signatures/passkey-signer';
import { openApprovers } from '../../src/authority/rules/current-file';
import { connect, type Countersign } from '../../src/client';
import { termsDigest } from '../../src/authority/grants/confirmations';
import { isGrantTerms } from '../../src/authority/grants/grant-schemas';
import type { GrantTerms } from '../../src/authority/grants/grant';
import { isObject } from '../../src/contract/json';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { newPasskey, SITE } from '../support/passkey';
import { scriptBook } from '../support/script-book';
import { waitFor } from '../support/turns';
import { createTestApp } from './support';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let signing: Awaited<ReturnType<typeof createTestApp>>;
let plain: typeof signing;
const tokens = new Map<string, string>();
const passkeys = { kim: newPasskey(), lee: newPasskey() };
type Owner = keyof typeof passkeys;

/** Grants are of a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  const file = join(fixture.directory, 'approvers.yaml');
  const text = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
rpId: ${SITE.rpId}
origins: ['${SITE.origin}']
people:
  kim: { passkeys: ['${passkeys.kim.line}'] }
  lee: { passkeys: ['${passkeys.lee.line}'] }
  ann: {}
  ben: {}
  boss: {}
  vera: {}
  hid: {}
roles: { admins: [boss], viewers: [vera] }
visibility: { kim: all, lee: all, ann: all, ben: all, vera: all, hid: [other] }
inboxKeys: ['${key.line}']
rules:
  - { name: here, tools: [note], then: ask, assurance: signed_in, approvers: { any: [ann, hid] } }
  - { name: two, tools: [wire], then: ask, assurance: signed_in, approvers: { any: [ann, ben], need: 2 } }
  - { name: own key, tools: [pay], then: ask, assurance: signed }
  - { name: both, tools: [close], then: ask, assurance: signed, approvers: { any: [kim, lee], need: 2 } }
  - { name: terminal, tools: [wipe], then: ask, assurance: signed_ssh }
  - { name: default, then: by_safety }
`;
  await writeFile(file, text);
  const tools = [
    ...['note', 'wire', 'pay', 'close', 'wipe'].map((name) =>
      recordTool(effects, { name, safety: 'dangerous' }),
    ),
    recordTool(effects, { name: 'once', safety: 'dangerous', noGrant: true }),
  ];
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [clerk], approvers: file });
  client = await connect({ client: fixture.client });
  const approvers = await openApprovers({ file, warn: () => undefined });
  const people = async () => parseApprovers(text, 'a.yaml');
  const signers = {
    signer: inboxSigner({ key, approvers }),
    grantSigner: inboxGrantSigner({ key, approvers }),
    passkeys: passkeySigner(approvers),
    grantPasskeys: passkeyGrantSigner(approvers),
  };
  signing = await createTestApp(client, { signers, people });
  plain = await createTestApp(client, { people });
  for (const app of [signing, plain])
    for (const name of ['kim', 'lee', 'ann', 'ben', 'boss', 'vera', 'hid'])
      tokens.set(`${app.usersFile} ${name}`, await app.users.add(name));
});
afterAll(() => Promise.all([signing.remove(), plain.remove()]));

async function asked(name: string, tag: string, ...more: object[]): Promise<string> {
  const toolCalls = [{ tag }, ...more].map((args) => ({ name, arguments: JSON.parse(JSON.stringify(args)) }));
  const prompt = book.add({ toolCalls }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

/** What an authenticator of this person makes of what the web inbox asks to sign. */
function sign(asked: unknown, by: Owner) {
  const statement = isObject(asked) ? asked['statement'] : undefined;
  if (typeof statement !== 'string') throw new Error(`nothing to sign in ${JSON.stringify(asked)}`);
  const said: Record<string, string> = JSON.parse(statement);
  const { at = '', notAfter = '', until = '', confirmedAt } = said;
  const assertion = passkeys[by].sign(statement);
  return { assertion, at: confirmedAt ?? at, notAfter: notAfter || until };
}

interface Said {
  status: number;
  body: unknown;
}

async function ask(path: string, json: unknown, { as = 'ann', app = signing } = {}): Promise<Said> {
  const headers = { authorization: `Bearer ${tokens.get(`${app.usersFile} ${as}`) ?? 'nobody'}` };
  const response = await app.ask(path, {
    headers,
    ...(json === undefined ? {} : { json }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

async function shown(turn: string) {
  const { callKey = '', seenDigest = '' } = (await client.view(turn)).calls[0]?.request ?? {};
  return { callId: '1.1', callKey, seenDigest };
}

async function plan(turn: string, how: object, who = {}): Promise<Said> {
  const { callId, seenDigest } = await shown(turn);
  return ask(`/api/turns/${turn}/grant-plans`, { callId, seenDigest, ...how }, who);
}

function termsOf({ body }: Said): GrantTerms {
  const terms = isObject(body) ? body['terms'] : undefined;
  if (isGrantTerms(terms)) return terms;
  throw new Error(`no terms in ${JSON.stringify(body)}`);
}

async function give(turn: string, terms: object, { decision = {}, who = {}, more = {} } = {}): Promise<Said> {
  const said = { ...(await shown(turn)), decision: 'approved', decisionId: `d-${turn}`, ...decision };
  return ask(`/api/turns/${turn}/grants`, { decision: said, terms, ...more }, who);
}

const ended = (turn: string): Promise<unknown> => fixture.client.workflow.getHandle(turn).result();

test('a grant that was shown is given with the approval, signed, and lets the next calls run', async () => {
  const turn = await asked('note', 'given');
  const previewed = await plan(turn, { times: 2 });
  expect(previewed).toMatchObject({
    status: 200,
    body: {
      sentence: expect.stringMatching(/^Allows clerk to run note with exactly these arguments .*2 calls/),
      coverage: expect.stringMatching(/it would have allowed \d/),
      ways: [{ name: 'tag', ways: [{ text: '= "given"' }, { condition: { is: 'glob', glob: '**' } }] }],
    },
  });
  const terms = termsOf(previewed);
  const given = await give(turn, terms);
  expect(given).toMatchObject({
    status: 200,
    body: { status: 'accepted', grant: { id: terms.id, by: 'ann' } },
  });
  await ended(turn);
  // The answer may have been lost: the same once more changes nothing.
  expect(await give(turn, terms)).toMatchObject({ status: 200, body: { grant: { id: terms.id, used: 0 } } });
  const prompt = book.add({ toolCalls: [{ name: 'note', arguments: { tag: 'given' } }] }, { text: 'done' });
  const { turn: next } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await ended(next);
  expect((await client.view(next)).calls[0]).toMatchObject({
    phase: 'done',
    grant: { id: terms.id, by: 'ann', use: 1, assurance: 'signed_in' },
  });
  const listed = await ask('/api/grants', undefined, { as: 'vera' });
  expect(listed.body).toMatchObject([
    {
      id: terms.id,
      used: 1,
      times: 2,
      sentence: expect.stringMatching(/^Allows clerk/),
      arguments: 'tag = "given"',
    },
  ]);
  const revoke = `/api/grants/${terms.id}/revocation`;
  expect(await ask(revoke, {}, { as: 'vera' })).toMatchObject({
    status: 403,
  });
  expect(await ask(revoke, {}, { as: 'hid' })).toMatchObject({
    status: 404,
    body: { code: 'not_found' },
  });
  expect(await ask(revoke, { reason: 'done' })).toMatchObject({
    status: 200,
    body: { ended: [{ id: terms.id }] },
  });
  expect((await ask('/api/grants', undefined)).body).toEqual([]);
});

test('a reason that is too long for the grant leaves the call undecided', async () => {
  const turn = await asked('note', 'long reason');
  const terms = termsOf(await plan(turn, { times: 2 }));
  const refused = { status: 400, body: { message: expect.stringContaining('over 500 bytes') } };
  expect(await give(turn, terms, { decision: { reason: 'ü'.repeat(251) } })).toMatchObject(refused);
  expect((await client.view(turn)).calls[0]?.phase).toBe('request');
  const path = `/api/grants/${terms.id}/revocation`;
  expect(await ask(path, { reason: 'ü'.repeat(251) })).toMatchObject(refused);
});

test.each<[string, string, object, { as?: string; app?: () => typeof signing }, number, RegExp]>([
  ['a viewer', 'note', {}, { as: 'vera' }, 403, /makes you a viewer/],
  ['somebody whose agents are others', 'note', {}, { as: 'hid' }, 404, /turn/],
  ['a stranger', 'note', {}, { as: 'eve' }, 401, /sign/i],
  ['somebody whom the rule does not name', 'note', {}, { as: 'ben' }, 409, /ben may not give it/],
  ['a tool that has none', 'once', {}, {}, 409, /one by one/],
  ['a rule that wants the own key', 'pay', {}, {}, 409, /wants decisions signed/],
  ['a rule that wants a terminal', 'wipe', {}, { as: 'kim' }, 409, /wants decisions signed ssh/],
  ['a web inbox that signs none', 'note', {}, { app: () => plain }, 409, /this one would be/],
  ['too many calls', 'note', { times: 1000 }, {}, 400, /1 to 500/],
  ['too long', 'note', { forMs: 40 * 24 * 3_600_000 }, {}, 400, /30 days/],
  [
    'an argument that is not there',
    'note',
    { narrowing: { who: { is: 'glob', glob: '**' } } },
    {},
    400,
    /no argument/,
  ],
  [
    'what does not cover the call',
    'note',
    { narrowing: { tag: { is: 'prefix', prefix: 'x' } } },
    {},
    400,
    /itself/,
  ],
  ['no narrowing', 'note', { narrowing: { tag: 'anything' } }, {}, 400, /narrowing/],
  ['another giver', 'note', { by: 'boss' }, {}, 400, /by/],
  ['another request', 'note', { seenDigest: 'f'.repeat(64) }, {}, 409, /another one by now/],
  ['a call that is not there', 'note', { callId: '7.7' }, {}, 404, /no call/],
])('nothing is planned for %s', async (_, tool, how, { as = 'ann', app = () => signing }, status, why) => {
  const turn = await asked(tool, 'refused');
  const { status: got, body } = await plan(turn, { times: 3, ...how }, { as, app: app() });
  expect(`${got} ${JSON.stringify(body)}`).toMatch(new RegExp(`^${status} .*${why.source}`, why.flags));
  await fixture.client.workflow.getHandle(turn).terminate();
});

const later = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

test.each<[string, (terms: GrantTerms) => object, object, RegExp]>([
  [
    'more calls, of another agent',
    (terms) => ({ ...terms, agent: 'other' }),
    {},
    /409 .*not the grant that was shown/,
  ],
  ['another giver', (terms) => ({ ...terms, by: 'boss' }), {}, /409 .*not the grant/],
  ['another tool', (terms) => ({ ...terms, toolDigest: 'a'.repeat(64) }), {}, /409 .*not the grant/],
  ['no rule', (terms) => ({ ...terms, ruleDigest: '' }), {}, /409 .*not the grant/],
  ['one field more', (terms) => ({ ...terms, all: true }), {}, /400 .*terms/],
  [
    'what does not cover the call',
    (terms) => ({ ...terms, narrowing: {} }),
    {},
    /40[09] .*grant|not the grant/,
  ],
  ['a year', (terms) => ({ ...terms, until: later(terms.at, 366 * 86_400_000) }), {}, /400 .*30 days/],
  [
    'what was shown an hour ago',
    (terms) => ({ ...terms, at: later(terms.at, -3_600_000) }),
    {},
    /409 .*within the last 10 minutes/,
  ],
  ['a denial', (terms) => terms, { decision: 'denied' }, /400 .*approval/],
  ['some hunks', (terms) => terms, { hunks: ['1'] }, /400 .*as it is/],
  ['another request', (terms) => terms, { seenDigest: 'f'.repeat(64) }, /409 .*another one by now/],
  ['another call', (terms) => terms, { callKey: 'f'.repeat(32) }, /409 .*refused/],
  ['a signature of its own', (terms) => terms, { signature: {} }, /400 /],
])('nothing is given, and nothing approved, with %s', async (_, forge, decision, why) => {
  const turn = await asked('note', 'forged');
  const terms = termsOf(await plan(turn, { forMs: 60_000 }));
  const { status, body } = await give(turn, forge(terms), { decision });
  expect(`${status} ${JSON.stringify(body)}`).toMatch(why);
  expect((await client.view(turn)).calls[0]).toMatchObject({ phase: 'request', votes: [] });
  expect((await client.grants.list()).grants).toEqual([]);
  await fixture.client.workflow.getHandle(turn).terminate();
});

test.each(['vera', 'hid', 'ben', 'eve'])('%s cannot give what ann was shown', async (as) => {
  const turn = await asked('note', 'others');
  const terms = termsOf(await plan(turn, { times: 3 }));
  expect([401, 403, 404, 409]).toContain((await give(turn, terms, { who: { as } })).status);
  expect((await client.grants.list()).grants).toEqual([]);
  await fixture.client.workflow.getHandle(turn).terminate();
});

test('a call that was decided meanwhile takes no grant with it', async () => {
  const turn = await asked('note', 'late');
  const terms = termsOf(await plan(turn, { times: 3 }));
  const decision = { ...(await shown(turn)), decisionId: 'first', decision: 'denied', reason: 'no' };
  expect((await ask(`/api/turns/${turn}/decisions`, decision)).status).toBe(200);
  await ended(turn);
  expect(await give(turn, terms)).toMatchObject({ status: 409, body: { status: 'refused' } });
  expect((await client.grants.list()).grants).toEqual([]);
});

test('a grant that takes two people waits for the second, whom the list says', async () => {
  const turn = await asked('wire', 'two');
  const previewed = await plan(turn, { times: 2 });
  const held = expect.stringMatching(/allows nothing: the rule 'two' needs 1 more of: ben\.$/);
  expect(previewed).toMatchObject({ status: 200, body: { held } });
  const { id, ...terms } = termsOf(previewed);
  expect(await give(turn, { id, ...terms })).toMatchObject({ status: 200, body: { grant: { id } } });
  const seenDigest = termsDigest({ id, ...terms });
  const list = async (as: string) => (await ask('/api/grants', undefined, { as })).body;
  expect(await list('ann')).toEqual([expect.objectContaining({ id, held })]);
  expect(await list('ann')).toEqual([expect.not.objectContaining({ toConfirm: seenDigest })]);
  expect(await list('ben')).toEqual([expect.objectContaining({ held, toConfirm: seenDigest })]);
  const confirm = (json: object, who: object) => ask(`/api/grants/${id}/confirmation`, json, who);
  const refused: [object, object, number, RegExp][] = [
    [{ seenDigest }, { as: 'ann' }, 409, /ann gave it/],
    [{ seenDigest }, { as: 'boss' }, 409, /boss is not named/],
    [{ seenDigest }, { as: 'vera' }, 403, /viewer/],
    [{ seenDigest }, { as: 'hid' }, 404, /no grant/],
    [{ seenDigest }, { as: 'eve' }, 401, /sign/i],
    [{ seenDigest }, { as: 'ben', app: plain }, 409, /this one would be claimed/],
    [{ seenDigest: 'f'.repeat(64) }, { as: 'ben' }, 409, /another grant/],
    [{ seenDigest, voter: 'ann' }, { as: 'ben' }, 400, /voter/],
  ];
  for (const [json, who, status, why] of refused) {
    const { status: got, body } = await confirm(json, who);
    expect(`${got} ${JSON.stringify(body)}`).toMatch(new RegExp(`^${status} .*${why.source}`, why.flags));
  }
  // The time that a page says is that of a passkey's signature, and none is asked for here.
  const grantPasskey = {
    assertion: 'none',
    at: '2020-01-01T00:00:00.000Z',
    notAfter: '2020-01-02T00:00:00.000Z',
  };
  expect(await confirm({ seenDigest, grantPasskey }, { as: 'ben' })).toMatchObject({
    status: 200,
    body: {
      confirmed: [{ voter: 'ben', signature: { kind: 'inbox', at: expect.not.stringMatching(/^2020/) } }],
    },
  });
  expect(await list('ben')).toEqual([expect.not.objectContaining({ held })]);
  const prompt = book.add({ toolCalls: [{ name: 'wire', arguments: { tag: 'two' } }] }, { text: 'done' });
  const { turn: next } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await ended(next);
  expect((await client.view(next)).calls[0]).toMatchObject({
    phase: 'done',
    grant: { id, by: 'ann', confirmedBy: ['ben'], assurance: 'signed_in' },
  });
  await fixture.client.workflow.getHandle(turn).terminate();
  await client.grants.revoke({ id, by: 'ann' });
});

const fieldOf = (body: unknown, name: string): unknown => (isObject(body) ? body[name] : undefined);

/** A call that kim may approve with a grant beside it, and what her passkey has to sign for both. */
async function askedOfKim(tool: string, tag: string) {
  const turn = await asked(tool, tag);
  const terms = termsOf(await plan(turn, { times: 2 }, { as: 'kim' }));
  const { status, body } = await give(turn, terms, { who: { as: 'kim' } });
  expect({ status, body }).toMatchObject({
    status: 403,
    body: { code: 'signature_needed', hint: expect.stringMatching(/^Nothing was sent/) },
  });
  return { turn, terms, vote: fieldOf(body, 'passkey'), grant: fieldOf(body, 'grantPasskey') };
}

async function isUntouched(turn: string): Promise<void> {
  expect((await client.view(turn)).calls[0]).toMatchObject({ phase: 'request', votes: [] });
  expect((await client.grants.list()).grants).toEqual([]);
}

test('where a rule wants signatures, a passkey signs the approval and the grant', async () => {
  const { turn, terms, vote, grant } = await askedOfKim('pay', 'signed');
  expect(vote).toMatchObject({ ids: [passkeys.kim.id], rpId: SITE.rpId });
  expect(grant).toMatchObject({
    ids: [passkeys.kim.id],
    sentence: expect.stringMatching(/^Allows clerk to run pay/),
    statement: expect.stringContaining('"kind":"grant"'),
  });
  await isUntouched(turn);
  const passkey = sign(vote, 'kim');
  const grantPasskey = sign(grant, 'kim');
  const half = await give(turn, terms, { decision: { passkey }, who: { as: 'kim' } });
  expect(half).toMatchObject({ status: 403, body: { grantPasskey: grant } });
  expect(half).not.toHaveProperty('body.passkey', expect.anything());
  const otherHalf = await give(turn, terms, { more: { grantPasskey }, who: { as: 'kim' } });
  expect(otherHalf).toMatchObject({ status: 403, body: { passkey: { ids: [passkeys.kim.id] } } });
  expect(otherHalf).not.toHaveProperty('body.grantPasskey', expect.anything());
  await isUntouched(turn);
  const both = { decision: { passkey }, more: { grantPasskey }, who: { as: 'kim' } };
  expect(await give(turn, terms, both)).toMatchObject({
    status: 200,
    body: { grant: { id: terms.id, by: 'kim', signature: { kind: 'passkey' } } },
  });
  await ended(turn);
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'signed' } }] }, { text: 'done' });
  const { turn: next } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await ended(next);
  expect((await client.view(next)).calls[0]).toMatchObject({
    phase: 'done',
    grant: { id: terms.id, by: 'kim', use: 1, assurance: 'signed' },
  });
  await client.grants.revoke({ id: terms.id, by: 'kim' });
});

test('signatures that are of somebody or something else give nothing, and approve nothing', async () => {
  const { turn, terms, vote, grant } = await askedOfKim('pay', 'wrong');
  const older = await askedOfKim('pay', 'wrong');
  const [passkey, grantPasskey] = [sign(vote, 'kim'), sign(grant, 'kim')];
  const wrong: [object, unknown, RegExp][] = [
    [passkey, sign(grant, 'lee'), /403 .*on the grant does not count.*somebody else's key/],
    [sign(vote, 'lee'), grantPasskey, /403 .*does not count.*somebody else's key/],
    [passkey, sign(older.grant, 'kim'), /403 .*not a signature over this grant/],
    [passkey, passkey, /403 .*not a signature over this grant/],
    [grantPasskey, grantPasskey, /403 .*does not count/],
    [sign(older.vote, 'kim'), grantPasskey, /403 .*does not count/],
    [passkey, { ...grantPasskey, assertion: 'x' }, /403 .*not in its form/],
    [passkey, { assertion: grantPasskey.assertion }, /400 .*grantPasskey/],
    [passkey, { ...grantPasskey, by: 'lee' }, /400 .*grantPasskey/],
    [passkey, 'x', /400 .*grantPasskey/],
  ];
  for (const [one, other, why] of wrong) {
    const both = { decision: { passkey: one }, more: { grantPasskey: other }, who: { as: 'kim' } };
    const { status, body } = await give(turn, terms, both);
    expect(`${status} ${JSON.stringify(body)}`).toMatch(why);
  }
  // Nor does a signature serve for other limits than those that were signed.
  const others = termsOf(await plan(turn, { times: 3 }, { as: 'kim' }));
  const both = { decision: { passkey }, more: { grantPasskey }, who: { as: 'kim' } };
  expect(await give(turn, others, both)).toMatchObject({ status: 403, body: { code: 'signature_needed' } });
  await isUntouched(turn);
  for (const one of [turn, older.turn]) await fixture.client.workflow.getHandle(one).terminate();
});

test('a passkey confirms a grant that takes two signatures', async () => {
  const { turn, terms, vote, grant } = await askedOfKim('close', 'both');
  const both = { decision: { passkey: sign(vote, 'kim') }, more: { grantPasskey: sign(grant, 'kim') } };
  expect(await give(turn, terms, { ...both, who: { as: 'kim' } })).toMatchObject({ status: 200 });
  const seenDigest = termsDigest(terms);
  const confirm = (more: object) =>
    ask(`/api/grants/${terms.id}/confirmation`, { seenDigest, ...more }, { as: 'lee' });
  const { status, body } = await confirm({});
  expect({ status, body }).toMatchObject({ status: 403, body: { grantPasskey: { ids: [passkeys.lee.id] } } });
  const asks = fieldOf(body, 'grantPasskey');
  const good = sign(asks, 'lee');
  for (const grantPasskey of [
    sign(asks, 'kim'),
    sign(grant, 'lee'),
    sign(grant, 'kim'),
    { ...good, at: later(good.at, 1) },
    { ...good, at: 'today' },
  ])
    expect(await confirm({ grantPasskey })).toMatchObject({
      status: 403,
      body: { code: 'signature_needed' },
    });
  expect((await client.grants.list()).grants).toEqual([expect.not.objectContaining({ confirmed: [] })]);
  expect(await confirm({ grantPasskey: good })).toMatchObject({
    status: 200,
    body: { confirmed: [{ voter: 'lee', signature: { kind: 'passkey' } }] },
  });
  const prompt = book.add({ toolCalls: [{ name: 'close', arguments: { tag: 'both' } }] }, { text: 'done' });
  const { turn: next } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await ended(next);
  expect((await client.view(next)).calls[0]).toMatchObject({
    grant: { id: terms.id, confirmedBy: ['lee'], assurance: 'signed' },
  });
  await fixture.client.workflow.getHandle(turn).terminate();
  await client.grants.revoke({ id: terms.id, by: 'kim' });
});

test('another site neither gives nor revokes', async () => {
  const cookie = await signing.signIn();
  const headers = { origin: 'https://evil.example.com' };
  for (const [method, path] of [
    ['POST', '/api/turns/t/grants'],
    ['POST', '/api/turns/t/grant-plans'],
    ['POST', '/api/grants/00000000-0000-4000-8000-000000000001/revocation'],
    ['POST', '/api/grants/00000000-0000-4000-8000-000000000001/confirmation'],
  ])
    expect((await signing.ask(path ?? '', { method: method ?? '', cookie, headers })).status).toBe(403);
});
