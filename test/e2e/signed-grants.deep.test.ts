import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signedGrantText } from '../../src/authority/signatures/grant-statement';
import { signText } from '../../src/authority/signatures/sign-with-ssh';
import { GRANT_NAMESPACE } from '../../src/authority/signatures/ssh-signature';
import { connect, type Countersign, type GrantPlan } from '../../src/client';
import { planConfirmation } from '../../src/authority/grants/client-plan';
import type { SaysOfGrant } from '../../src/authority/grants/grant-votes';
import type { GrantSeen, GrantTerms } from '../../src/authority/grants/grant';
import type { VoteSignature } from '../../src/contract/decision';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { newPasskey, type PasskeyChanges, SITE } from '../support/passkey';
import { scriptBook } from '../support/script-book';
import { sshKeygen } from '../support/ssh';
import { waitFor } from '../support/turns';
import { needs } from '../support/parts';

needs('ssh');

const effects = useEffects();
const book = scriptBook();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
let fixture: Fixture;
let client: Countersign;
let keys = '';
let worker: Awaited<ReturnType<Fixture['addWorker']>>;

const publicLine = (name: string): string => readFileSync(join(keys, `${name}.pub`), 'utf8').trim();

const passkeys = { anna: newPasskey(), bob: newPasskey('EdDSA'), eve: newPasskey() };

const approversFile = (): string => `
installation: '${INSTALLATION}'
rpId: ${SITE.rpId}
origins: ['${SITE.origin}']
people:
  anna: { groups: [finance], keys: ['${publicLine('anna')}'], passkeys: ['${passkeys.anna.line}'] }
  bob: { groups: [finance], keys: ['${publicLine('bob')}'], passkeys: ['${passkeys.bob.line}'] }
  carl: { groups: [finance], keys: ['${publicLine('carl')}'] }
  rita: { groups: [finance], keys: ['${publicLine('rita')}'] }
rules:
  - name: one key
    tools: [pay]
    then: ask
    approvers: { any: ['group:finance'] }
    assurance: signed
  - name: two keys
    tools: [wire]
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
    assurance: signed
  - name: default
    then: by_safety
`;

const makeClerk = () => {
  const tools = ['pay', 'wire'].map((name) =>
    recordTool(effects, { name, safety: 'dangerous', effect: 'unsafe' }),
  );
  return defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
};

/** Grants are of a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  keys = join(fixture.directory, 'keys');
  await mkdir(keys);
  for (const name of ['anna', 'bob', 'carl', 'rita'])
    sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(keys, name)]);
  const approvers = join(fixture.directory, 'approvers.yaml');
  await writeFile(approvers, approversFile());
  worker = await fixture.addWorker({}, { agents: [makeClerk()], approvers });
  client = await connect({ client: fixture.client });
});

/** Starts a turn that asks for one call. */
async function start(name: string, tag: string): Promise<TurnHandle> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, { text: 'done' });
  const asked = { agent: 'clerk', prompt, taskQueue: fixture.taskQueue, requester: 'rita' };
  return fixture.client.workflow.getHandle((await client.start(asked)).turn);
}

/** What somebody would give on a call that waits; the call itself is not decided. */
async function planOn(name: string, tag: string, by = 'anna'): Promise<GrantPlan> {
  const handle = await start(name, tag);
  await waitFor(handle, '1.1');
  const plan = await client.grants.plan(handle.workflowId, '1.1', { by, times: 2 });
  await handle.terminate();
  return plan;
}

/** Signs with OpenSSH's own program. */
async function sign(terms: GrantTerms, key: string, says?: SaysOfGrant): Promise<VoteSignature> {
  const text = signedGrantText(terms, { installation: INSTALLATION, namespace: client.namespace }, says);
  const { armored } = await signText(text, { keyFile: join(keys, key), namespace: GRANT_NAMESPACE });
  return { kind: 'ssh', armored, at: (says ?? terms).at, notAfter: terms.until };
}

async function give({ terms, authority }: GrantPlan, key: string = terms.by): Promise<GrantSeen> {
  const asked = authority === undefined ? terms : { ...terms, authority };
  return client.grants.give({ ...asked, signature: await sign(terms, key) });
}

/** What a passkey of this person signed. */
function signByPasskey(
  terms: GrantTerms,
  key: keyof typeof passkeys,
  { says, ...changes }: PasskeyChanges & { says?: SaysOfGrant } = {},
): VoteSignature {
  const text = signedGrantText(terms, { installation: INSTALLATION, namespace: client.namespace }, says);
  const armored = passkeys[key].sign(text, changes);
  return { kind: 'passkey', armored, at: (says ?? terms).at, notAfter: terms.until };
}

async function confirm(grant: GrantSeen, voter: string, key = voter): Promise<GrantSeen> {
  const { asked } = planConfirmation(grant, voter);
  return client.grants.confirm({ ...asked, signature: await sign(grant, key, asked) });
}

/** Whether a call of this kind waits for a person. */
async function asks(name: string, tag: string): Promise<void> {
  const handle = await start(name, tag);
  await waitFor(handle, '1.1');
  expect((await client.timeline(handle.workflowId)).map(({ type }) => type)).not.toContain('call_started');
  expect(await effects.lines(tag)).toEqual([]);
  await handle.terminate();
}

it('lets calls run by a grant that one person signed', async () => {
  const { id } = await give(await planOn('pay', 'signed'));
  const handle = await start('pay', 'signed');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.grant).toMatchObject({ id, by: 'anna', use: 1, assurance: 'signed_ssh' });
});

it.each<[string, (plan: GrantPlan) => Promise<unknown>]>([
  ['nobody signed', ({ terms }) => client.grants.give(terms)],
  ["somebody signed with another person's key", (plan) => give(plan, 'bob')],
])('asks where %s', async (reason, giving) => {
  const tag = reason.replaceAll(/\W/g, '-');
  await giving(await planOn('pay', tag));
  await asks('pay', tag);
});

it('lets calls run by a grant that a passkey signed', async () => {
  const { terms } = await planOn('pay', 'passkey');
  const { id } = await client.grants.give({ ...terms, signature: signByPasskey(terms, 'anna') });
  const handle = await start('pay', 'passkey');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.grant).toMatchObject({ id, by: 'anna', use: 1, assurance: 'signed' });
});

const other = (terms: GrantTerms, part: Partial<GrantTerms>): VoteSignature =>
  signByPasskey({ ...terms, ...part }, 'anna');

// A web server that lies can send all of this: nothing before the worker checks it.
it.each<[string, (terms: GrantTerms) => VoteSignature]>([
  ['by the passkey of another person', (terms) => signByPasskey(terms, 'bob')],
  ['by a passkey of nobody', (terms) => signByPasskey(terms, 'eve')],
  ['on another page', (terms) => signByPasskey(terms, 'anna', { origin: 'https://evil.example.com' })],
  ['with nobody there', (terms) => signByPasskey(terms, 'anna', { flags: 0 })],
  ['for fewer calls', (terms) => other(terms, { times: 1 })],
  ['for another tool', (terms) => other(terms, { tool: 'wire' })],
  ['under another rule', (terms) => other(terms, { ruleDigest: 'c'.repeat(64) })],
  ['for other arguments', (terms) => other(terms, { narrowing: {} })],
  ['for an earlier grant', (terms) => other(terms, { id: '00000000-0000-4000-8000-000000000001' })],
  ['as a confirmation', (terms) => signByPasskey(terms, 'anna', { says: { voter: 'bob', at: terms.at } })],
  ['under the name of an SSH key', (terms) => ({ ...signByPasskey(terms, 'anna'), kind: 'ssh' })],
  ['under the name of the web inbox', (terms) => ({ ...signByPasskey(terms, 'anna'), kind: 'inbox' })],
])('asks where a grant was signed %s', async (how, forge) => {
  const tag = `pk-${how.replaceAll(/\W/g, '-')}`;
  const { terms } = await planOn('pay', tag);
  await client.grants.give({ ...terms, signature: forge(terms) });
  await asks('pay', tag);
});

it('takes a confirmation by a passkey beside a grant by an SSH key', async () => {
  const grant = await give(await planOn('wire', 'mixed'));
  const { asked } = planConfirmation(grant, 'bob');
  const copied = signByPasskey(grant, 'anna', { says: asked });
  const once = await client.grants.confirm({ ...asked, signature: copied });
  await asks('wire', 'mixed');
  const again = planConfirmation(once, 'bob').asked;
  await client.grants.confirm({ ...again, signature: signByPasskey(grant, 'bob', { says: again }) });
  const handle = await start('wire', 'mixed');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.grant).toMatchObject({ confirmedBy: ['bob'], assurance: 'signed' });
});

it('waits for a second signature where the rule needs two, and then lets calls run', async () => {
  const plan = await planOn('wire', 'two');
  expect(plan.held).toMatch(/^Until it is confirmed it allows nothing: .* needs 1 more of: bob, carl\.$/);
  const grant = await give(plan);
  await asks('wire', 'two');
  for (const wrong of ['anna', 'rita'])
    expect(() => planConfirmation(grant, wrong)).toThrow(/anna gave it|rita asked/);
  const both = await confirm(grant, 'bob');
  expect(both.confirmed).toMatchObject([{ voter: 'bob' }]);
  const handle = await start('wire', 'two');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const [call] = (await client.view(handle.workflowId)).calls;
  const use = { id: grant.id, by: 'anna', confirmedBy: ['bob'], use: 1, assurance: 'signed_ssh' };
  expect(call?.grant).toMatchObject(use);
  expect(await effects.lines('two')).toHaveLength(1);
});

it.each<[string, (grant: GrantSeen) => Promise<GrantSeen>]>([
  ['without a signature', (grant) => client.grants.confirm(planConfirmation(grant, 'bob').asked)],
  ["with another person's key", (grant) => confirm(grant, 'bob', 'carl')],
  [
    'with the signature of who gave it',
    async (grant) => {
      const { asked } = planConfirmation(grant, 'bob');
      return client.grants.confirm({ ...asked, ...(grant.signature && { signature: grant.signature }) });
    },
  ],
])('still asks where somebody confirms it %s, and no more once another person does', async (how, wrong) => {
  const tag = how.replaceAll(/\W/g, '-');
  const grant = await give(await planOn('wire', tag));
  const once = await wrong(grant);
  await asks('wire', tag);
  await confirm(once, 'carl');
  const handle = await start('wire', tag);
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const [call] = (await client.view(handle.workflowId)).calls;
  expect(call?.grant).toMatchObject({ confirmedBy: ['carl'] });
});

it('asks again once the key of who confirmed is taken out of the file', async () => {
  const grant = await confirm(await give(await planOn('wire', 'removed')), 'bob');
  expect(grant.confirmed).toHaveLength(1);
  const file = join(fixture.directory, 'approvers-less.yaml');
  await writeFile(file, approversFile().replace(/ {2}bob: .*\n/, '  bob: { groups: [finance] }\n'));
  await worker.stop();
  await fixture.addWorker({}, { agents: [makeClerk()], approvers: file });
  await asks('wire', 'removed');
});
