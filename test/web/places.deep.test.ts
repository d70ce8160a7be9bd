import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { awayText } from '../../src/authority/away-statement';
import { inboxSigner, openInboxKey } from '../../src/authority/inbox-key';
import { passkeySigner } from '../../src/authority/passkeys/passkey-signer';
import { signText } from '../../src/authority/sign-statement';
import { openApprovers } from '../../src/authority/source';
import { AWAY_NAMESPACE } from '../../src/authority/ssh-signature';
import { type Away, awayTerms, connect, type Countersign } from '../../src/client';
import { type RunningWeb, startWeb } from '../../src/server';
import { defineAgent } from '../../src/tools/define-agent';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { sshKeygen } from '../support/ssh';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { callPlace, confirm, lookAtAll } from './web-inbox';
import { needs } from '../support/parts';

needs('ssh');

const effects = useEffects();
const book = scriptBook();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const HOUR = 3_600_000;
const complaints: string[] = [];
let fixture: Fixture;
let client: Countersign;
let web: RunningWeb;
let browser: Browser;
let url: string;
let lineOfInbox: string;
let keyFile: string;

/** `boss` is signed in by mail address, and no rule names them. */
const writeApprovers = (passkeys: readonly string[], origin = url): Promise<void> =>
  writeFile(
    join(fixture.directory, 'approvers.yaml'),
    `
installation: '${INSTALLATION}'
rpId: localhost
origins: ['${origin}']
people:
  dora: { keys: ['${readFileSync(`${keyFile}.pub`, 'utf8').trim()}'] }
  ed: {}
  boss: { mail: owner@example.com, passkeys: ${JSON.stringify(passkeys)} }
inboxKeys: ['${lineOfInbox}']
rules:
  - { name: own key, tools: [pay], then: ask, approvers: { any: [dora] }, assurance: signed }
  - { name: two, tools: [wire], then: ask, approvers: { any: [dora, ed], need: 2 } }
  - { name: default, then: by_safety }
`,
  );

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  ensureBuilt();
  fixture = await startFixture({ ownServer: {} });
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  lineOfInbox = key.line;
  keyFile = join(fixture.directory, 'dora');
  sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', 'dora', '-f', keyFile]);
  await writeApprovers([], 'http://localhost:1');
  const file = join(fixture.directory, 'approvers.yaml');
  const tools = ['pay', 'wire'].map((name) => recordTool(effects, { name, safety: 'dangerous' }));
  const payer = defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [payer], approvers: file });
  client = await connect({ address: fixture.address });
  const approvers = await openApprovers({ file, warn: (line) => void complaints.push(line) });
  web = await startWeb({
    ...{ client, port: 0, undoMs: 0, localUser: 'owner@example.com', version: '1.2.3', pageDir: lib('web') },
    usersFile: join(fixture.directory, 'users.json'),
    refusalsFile: join(fixture.directory, 'refusals.jsonl'),
    ...{ signer: inboxSigner({ key, approvers }), passkeys: passkeySigner(approvers) },
    voters: approvers.current,
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
afterEach(async () => {
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
  expect(complaints).toEqual([]);
});

/** A tab whose browser has an authenticator that answers by itself. */
async function openTab(): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(30_000);
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

/** Makes a passkey in the page, and adds its line to the file. */
async function enrol(page: Page): Promise<void> {
  await page.goto(`${url}/#/passkeys`);
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  await writeApprovers([await page.locator('#passkey-line').innerText()]);
  await until('the file to be read', async () => {
    await page.reload();
    await page.getByText('in the approvers file').waitFor();
    return page.getByText('has 1 in the approvers file').isVisible();
  });
}

async function asked(name: string, tag: string): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'payer', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

async function approve(page: Page, turn: string): Promise<void> {
  await page.goto(`${url}/${callPlace(turn)}`);
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled="false"]').click();
}

/** Dora leaves for an hour, with `boss` in her place, and signs that with OpenSSH's own program. */
async function leave(): Promise<Away> {
  const start = Date.now();
  const terms = awayTerms({ from: 'dora', to: 'boss' }, { start, end: start + HOUR });
  const text = awayText(terms, { installation: INSTALLATION, namespace: client.namespace });
  const { armored } = await signText(text, { keyFile, namespace: AWAY_NAMESPACE });
  return client.away.put({
    ...terms,
    signature: { kind: 'ssh', armored, at: terms.at, notAfter: terms.end },
  });
}

const callOf = async (turn: string) => (await client.view(turn)).calls[0];
const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Sign what you decided' });

test('a passkey signs a vote in the place of who is away; the dialog says whose place it is', async () => {
  const page = await openTab();
  await enrol(page);

  const early = await asked('pay', 'early');
  await approve(page, early);
  await dialogOf(page).getByText(early).waitFor();
  expect(await dialogOf(page).getByText('In place of').count()).toBe(0);
  const refused = page.waitForResponse((one) => one.url().endsWith('/decisions') && one.status() === 409);
  await dialogOf(page).getByRole('button', { name: 'Sign with your passkey' }).click();
  expect(await (await refused).text()).toContain('is not named by the rule; these may: dora');

  const { id: entry } = await leave();
  await until('the web inbox to hear of it', async () => {
    await page.goto(`${url}/#/inbox`);
    await approve(page, early);
    await dialogOf(page).waitFor();
    if ((await dialogOf(page).getByText('In place of').count()) > 0) return true;
    await dialogOf(page).getByRole('button', { name: 'Do not send it' }).click();
    return false;
  });
  const facts = dialogOf(page).locator('dl.facts > div');
  expect(await facts.allInnerTexts()).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^In place of\s+dora$/),
      expect.stringMatching(/^Signed by\s+boss$/),
    ]),
  );
  await dialogOf(page).getByRole('button', { name: 'Sign with your passkey' }).click();
  await fixture.client.workflow.getHandle(early).result();
  expect(await effects.lines('early')).toEqual(['pay early']);
  expect((await callOf(early))?.votes).toEqual([
    {
      voter: 'boss',
      decision: 'approved',
      inPlaceOf: { person: 'dora', entry },
      signedBy: 'passkey',
    },
  ]);
  await page.context().close();
});

test('a vote in a place is withdrawn by who cast it, also once the person is back', async () => {
  const page = await openTab();
  const { id } = await leave();
  const turn = await asked('wire', 'withdrawn');
  const withdraw = page.getByRole('button', { name: 'Withdraw my vote …' });
  await until('a vote in her place', async () => {
    await approve(page, turn);
    await page
      .locator('.notices')
      .getByText(/It still waits|these may/)
      .first()
      .waitFor();
    return ((await callOf(turn))?.votes.length ?? 0) > 0;
  });
  expect((await callOf(turn))?.votes).toMatchObject([{ voter: 'boss', inPlaceOf: { person: 'dora' } }]);
  await client.away.end({ id, by: 'dora' });
  await page.goto(`${url}/${callPlace(turn)}`);
  await confirm(
    page,
    () => withdraw.click(),
    () => page.getByRole('button', { name: 'Withdraw it now' }).click(),
  );
  await until('it taken back', async () => (await callOf(turn))?.votes.length === 0);
  expect(await effects.lines('withdrawn')).toEqual([]);
  await page.context().close();
});
