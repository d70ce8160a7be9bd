import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { signedGrantText } from '../../src/authority/signatures/grant-statement';
import { inboxGrantSigner, inboxSigner, openInboxKey } from '../../src/authority/signatures/inbox-key';
import { passkeyGrantSigner, passkeySigner } from '../../src/authority/signatures/passkey-signer';
import { openApprovers } from '../../src/authority/rules/current-file';
import { connect, type Countersign } from '../../src/client';
import { type RunningWeb, startWeb } from '../../src/server';
import { defineAgent } from '../../src/tools/define-agent';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { newPasskey } from '../support/passkey';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { unnamedIn } from './accessible';
import { useTabs } from './page-fixture';
import { callPlace, confirm, holdFirst, lookAtAll } from './web-inbox';

const effects = useEffects();
const book = scriptBook();
const complaints: string[] = [];
let fixture: Fixture;
let client: Countersign;
let web: RunningWeb;
let browser: Browser;
let url: string;
let lineOfInbox: string;
/** The passkey of a second person, who has no browser here. */
const ben = newPasskey();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';

/** The approvers file, with these passkeys of the person who is signed in. */
async function writeApprovers(passkeys: readonly string[], origin = url): Promise<void> {
  await writeFile(
    join(fixture.directory, 'approvers.yaml'),
    `
installation: '${INSTALLATION}'
rpId: localhost
origins: ['${origin}']
people:
  owner: { passkeys: ${JSON.stringify(passkeys)} }
  ben: { passkeys: ['${ben.line}'] }
inboxKeys: ['${lineOfInbox}']
rules:
  - { name: own key, tools: [pay], then: ask, assurance: signed }
  - { name: two keys, tools: [wire], then: ask, assurance: signed, approvers: { any: [owner, ben], need: 2 } }
  - { name: terminal, tools: [close], then: ask, assurance: signed_ssh }
  - { name: default, then: by_safety }
`,
  );
}

const ofTest = useTabs();

/** Grants are of a namespace, so these have a server of their own. */
beforeAll(async () => {
  ensureBuilt();
  fixture = await startFixture({ ownServer: {} });
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  lineOfInbox = key.line;
  await writeApprovers([], 'http://localhost:1');
  const file = join(fixture.directory, 'approvers.yaml');
  const tools = ['pay', 'wire', 'close'].map((name) => recordTool(effects, { name, safety: 'dangerous' }));
  const payer = defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [payer], approvers: file });
  client = await connect({ address: fixture.address });
  const approvers = await openApprovers({ file, warn: (line) => void complaints.push(line) });
  web = await startWeb({
    ...{ client, port: 0, undoMs: 0, localUser: 'owner', version: '1.2.3', pageDir: lib('web') },
    usersFile: join(fixture.directory, 'users.json'),
    refusalsFile: join(fixture.directory, 'refusals.jsonl'),
    ...{ signer: inboxSigner({ key, approvers }), passkeys: passkeySigner(approvers) },
    grantSigner: inboxGrantSigner({ key, approvers }),
    grantPasskeys: passkeyGrantSigner(approvers),
    onLink: () => undefined,
    report: (error) => void complaints.push(String(error)),
  });
  url = web.url.replace('127.0.0.1', 'localhost');
  await writeApprovers([]);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await web?.stop();
  await client?.close();
});
afterEach(() => expect(complaints).toEqual([]));

/** Makes a passkey in the page, and adds its line to the file. */
async function enrol(page: Page): Promise<void> {
  await page.goto(`${url}/#/passkeys`);
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  const line = await page.locator('#passkey-line').innerText();
  await writeApprovers([line]);
  const id = line.split(' ')[1] ?? '';
  await until('the file to be read', async () =>
    String(await page.evaluate(`fetch('/api/passkeys').then((reply) => reply.text())`)).includes(id),
  );
}

/** A tab whose browser has an authenticator that answers by itself. */
async function openTab(): Promise<Page> {
  const page = ofTest(await (await browser.newContext()).newPage());
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => void complaints.push(error.message));
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  await page.goto((web.drawLink() ?? '').replace('127.0.0.1', 'localhost'));
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  return page;
}

async function start(name: string, tag: string): Promise<string> {
  const words = book.add({ toolCalls: [{ name, arguments: { tag } }] }, { text: 'done' });
  return (await client.start({ agent: 'payer', prompt: words, taskQueue: fixture.taskQueue })).turn;
}

async function asked(name: string, tag: string): Promise<string> {
  const turn = await start(name, tag);
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

async function approve(page: Page, turn: string): Promise<void> {
  await page.goto(`${url}/${callPlace(turn)}`);
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled="false"]').click();
}

/** Opens a call that this person may not approve here, and waits until the page says why. */
async function refusedHere(page: Page, turn: string, why: string): Promise<void> {
  await page.goto(`${url}/${callPlace(turn)}`);
  await page.locator('main').getByText(why).first().waitFor();
  expect(await page.locator('#approve').getAttribute('aria-disabled')).toBe('true');
}

const phaseOf = async (turn: string) => (await client.view(turn)).calls[0]?.phase;

test('a passkey is made, its line goes into the file, and what it signs lets a call run', async () => {
  const page = await openTab();
  await page.goto(`${url}/#/decided`);
  await page.getByRole('link', { name: 'Make a passkey' }).click();
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  const line = await page.locator('#passkey-line').innerText();
  expect(line).toMatch(/^passkey [\w-]+ [\w-]+$/);

  // It grants nothing before an administrator has added its line.
  const early = await asked('pay', 'early');
  await refusedHere(page, early, 'its rule wants decisions signed');

  await writeApprovers([line]);
  await page.goto(`${url}/#/passkeys`);
  await until('the file to be read', async () => {
    await page.reload();
    await page.getByText('in the approvers file').waitFor();
    return page.getByText('has 1 in the approvers file').isVisible();
  });

  const turn = await asked('pay', 'signed');
  await approve(page, turn);
  const dialog = page.getByRole('dialog', { name: 'Sign what you decided' });
  await dialog.getByText(turn).waitFor();
  await dialog.getByRole('button', { name: 'Sign with your passkey' }).click();
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('signed')).toEqual(['pay signed']);
  expect((await client.view(turn)).calls[0]?.votes).toEqual([
    { voter: 'owner', decision: 'approved', signedBy: 'passkey', at: expect.any(String) },
  ]);

  const left = await asked('pay', 'left');
  await approve(page, left);
  await dialog.getByRole('button', { name: 'Do not send it' }).click();
  await page.locator('.notices').getByText("takes the approver's own key").waitFor();
  expect(await phaseOf(left)).toBe('request');

  const terminal = await asked('close', 'terminal');
  await refusedHere(page, terminal, 'its rule wants decisions signed ssh');

  // Another browser has another authenticator.
  const other = await openTab();
  await approve(other, left);
  const asks = other.getByRole('dialog', { name: 'Sign what you decided' });
  await asks.getByRole('button', { name: 'Sign with your passkey' }).click();
  await asks.getByRole('alert').getByText('there is no such passkey here').waitFor();
  await asks.getByRole('button', { name: 'Do not send it' }).click();
  expect(await phaseOf(left)).toBe('request');
  expect(await effects.lines('left')).toEqual([]);
});

test('the worker strikes what a passkey of nobody signed, whoever sends it', async () => {
  const turn = await asked('pay', 'forged');
  const { seenDigest = '', callKey = '' } = (await client.view(turn)).calls[0]?.request ?? {};
  const [at, notAfter] = [0, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
  const signature = {
    ...{ kind: 'passkey' as const, armored: newPasskey().sign('anything') },
    ...{ at: at ?? '', notAfter: notAfter ?? '' },
  };
  const answer = await client.decide(turn, {
    ...{ callId: '1.1', decision: 'approved', approver: 'owner', seenDigest, callKey, signature },
  });
  expect(answer.status).toBe('accepted');
  const struck = await until('the vote to be struck', async () =>
    (await client.view(turn)).calls.find(({ phase, votes }) => phase === 'request' && votes.length === 0),
  );
  expect(struck).toMatchObject({ callId: '1.1' });
  expect(await effects.lines('forged')).toEqual([]);
});

const prompt = (page: Page, title: string) => page.getByRole('dialog', { name: title, exact: true });
const FIRST = 'Sign 1 of 2: the decision';
const SECOND = 'Sign 2 of 2: the grant';
const sign = (page: Page, title: string) =>
  prompt(page, title).getByRole('button', { name: 'Sign with your passkey' }).click();

/** Opens the offer of a grant beside an approval, and takes it. */
async function allowMore(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Approve and allow more …' }).click();
  const offer = page.getByRole('dialog', { name: 'Approve and allow more', exact: true });
  await offer.getByText('Allows payer to run').waitFor();
  await offer.locator('button[type=submit][aria-disabled=false]').click();
}

const grants = async () => (await client.grants.list()).grants;

async function nothingDone(page: Page, turn: string): Promise<void> {
  await page
    .locator('.notices')
    .getByText('Nothing was sent: nothing is decided, and nothing more')
    .waitFor();
  expect((await client.view(turn)).calls[0]).toMatchObject({ phase: 'request', votes: [] });
  expect(await grants()).toEqual([]);
  await page.getByRole('button', { name: 'Close this notice' }).first().click();
}

test('a passkey signs the approval and then the grant, and the next call runs', async () => {
  const page = await openTab();
  await enrol(page);
  const turn = await asked('pay', 'granted');
  await page.goto(`${url}/${callPlace(turn)}`);
  await lookAtAll(page);

  // Whoever signs neither, or only the first, has sent nothing.
  await allowMore(page);
  await prompt(page, FIRST).getByRole('button', { name: 'Send neither' }).click();
  await nothingDone(page, turn);
  await allowMore(page);
  await sign(page, FIRST);
  await prompt(page, SECOND).waitFor();
  await page.keyboard.press('Escape');
  await nothingDone(page, turn);

  await allowMore(page);
  await prompt(page, FIRST).getByText(turn).waitFor();
  await sign(page, FIRST);
  const second = prompt(page, SECOND);
  await second.getByText(/^Allows payer to run pay with exactly these arguments .*up to 3 calls/).waitFor();
  expect(await second.locator('dt').allInnerTexts()).toEqual(
    expect.arrayContaining(['Tool', 'Agent', 'Arguments', 'Calls', 'Ends', 'Given by']),
  );
  expect(await unnamedIn(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.locator('.notices').getByText('Approved, and allowed more calls of pay').waitFor();
  await fixture.client.workflow.getHandle(turn).result();
  const [given] = await grants();
  expect(given).toMatchObject({ by: 'owner', signature: { kind: 'passkey' } });

  // The worker finds the grant as good as a decision.
  const next = await start('pay', 'granted');
  await fixture.client.workflow.getHandle(next).result();
  expect((await client.view(next)).calls[0]?.grant).toMatchObject({ id: given?.id, assurance: 'signed' });
  expect(await effects.lines('granted')).toEqual(['pay granted', 'pay granted']);
  await client.grants.revoke({ id: given?.id ?? '', by: 'owner' });
});

test('a browser without the passkey gives nothing', async () => {
  await enrol(await openTab());
  const turn = await asked('pay', 'other browser');
  const page = await openTab();
  await page.goto(`${url}/${callPlace(turn)}`);
  await lookAtAll(page);
  await allowMore(page);
  await sign(page, FIRST);
  await prompt(page, FIRST).getByRole('alert').getByText('there is no such passkey here').waitFor();
  await prompt(page, FIRST).getByRole('button', { name: 'Send neither' }).click();
  await nothingDone(page, turn);
});

test('a passkey confirms the grant of somebody else on the page of grants', async () => {
  const page = await openTab();
  await enrol(page);
  const turn = await asked('wire', 'two');
  const { authority, terms } = await client.grants.plan(turn, '1.1', { by: 'ben', times: 3 });
  const text = signedGrantText(terms, { installation: INSTALLATION, namespace: client.namespace });
  const armored = ben.sign(text, { origin: url, rpId: 'localhost' });
  const signature = { kind: 'passkey' as const, armored, at: terms.at, notAfter: terms.until };
  const { id } = await client.grants.give({ ...terms, signature, ...(authority && { authority }) });
  await page.goto(`${url}/#/grants`);
  await confirm(
    page,
    () => page.getByRole('button', { name: /^Confirm …/ }).click(),
    () => page.getByRole('button', { name: /^Confirm it now/ }).click(),
  );
  const dialog = prompt(page, 'Sign what you allow');
  await dialog.getByText(/^Allows payer to run wire .*up to 3 calls/).waitFor();
  expect(await dialog.locator('dt').allInnerTexts()).toContain('Confirmed by');
  const looked = await holdFirst(page, '**/api/grants');
  await dialog.getByRole('button', { name: 'Do not send it' }).click();
  await page.locator('.notices').getByText('Nothing was sent').waitFor();
  expect((await grants())[0]?.confirmed ?? []).toEqual([]);
  await looked.taken;

  // The list is read again while the person goes on.
  await page.getByRole('button', { name: /^Confirm …/ }).click();
  await looked.release();
  await page.clock.fastForward(1_000);
  await page.getByRole('button', { name: /^Confirm it now/ }).click();
  await sign(page, 'Sign what you allow');
  await page.getByText('confirmed by owner, signed').waitFor();
  const next = await start('wire', 'two');
  await fixture.client.workflow.getHandle(next).result();
  expect((await client.view(next)).calls[0]?.grant).toMatchObject({
    ...{ id, by: 'ben', confirmedBy: ['owner'], assurance: 'signed' },
  });
  await client.grants.revoke({ id, by: 'owner' });
});

test('what a rule wants from a terminal cannot be allowed in the page', async () => {
  const page = await openTab();
  await enrol(page);
  await refusedHere(page, await asked('close', 'no grant'), 'its rule wants decisions signed ssh');
  expect(await page.getByRole('button', { name: 'Approve and allow more …' }).count()).toBe(0);
});
