import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { inboxSigner, openInboxKey } from '../../src/authority/inbox-key';
import { passkeySigner } from '../../src/authority/passkey-votes';
import { openApprovers } from '../../src/authority/source';
import { connect, type Countersign } from '../../src/client';
import { type RunningWeb, startWeb } from '../../src/server';
import { defineAgent } from '../../src/tools/define-agent';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { newPasskey } from '../support/passkey';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { callPlace, lookAtAll } from './web-inbox';

const effects = useEffects();
const book = scriptBook();
const complaints: string[] = [];
let fixture: Fixture;
let client: Countersign;
let web: RunningWeb;
let browser: Browser;
let url: string;
let lineOfInbox: string;

/** The approvers file, with these passkeys of the person who is signed in. */
async function writeApprovers(passkeys: readonly string[], origin = url): Promise<void> {
  await writeFile(
    join(fixture.directory, 'approvers.yaml'),
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
rpId: localhost
origins: ['${origin}']
people: { owner: { passkeys: ${JSON.stringify(passkeys)} } }
inboxKeys: ['${lineOfInbox}']
rules:
  - { name: own key, tools: [pay], then: ask, assurance: signed }
  - { name: terminal, tools: [close], then: ask, assurance: signed_ssh }
  - { name: default, then: by_safety }
`,
  );
}

beforeAll(async () => {
  ensureBuilt();
  fixture = await startFixture({});
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  lineOfInbox = key.line;
  await writeApprovers([], 'http://localhost:1');
  const file = join(fixture.directory, 'approvers.yaml');
  const tools = ['pay', 'close'].map((name) => recordTool(effects, { name, safety: 'dangerous' }));
  const payer = defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [payer], approvers: file });
  client = await connect({ address: testAddress() });
  const approvers = await openApprovers({ file, warn: (line) => void complaints.push(line) });
  web = await startWeb({
    ...{ client, port: 0, undoMs: 0, localUser: 'owner', version: '1.2.3', pageDir: lib('web') },
    usersFile: join(fixture.directory, 'users.json'),
    refusalsFile: join(fixture.directory, 'refusals.jsonl'),
    ...{ signer: inboxSigner({ key, approvers }), passkeys: passkeySigner(approvers) },
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

/** A tab whose browser has an authenticator that answers by itself. */
async function openTab(): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
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
  await approve(page, early);
  await page.locator('.notices').getByText("takes the approver's own key").waitFor();
  expect(await phaseOf(early)).toBe('requested');

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
    { voter: 'owner', decision: 'approved', signedBy: 'passkey' },
  ]);

  const left = await asked('pay', 'left');
  await approve(page, left);
  await dialog.getByRole('button', { name: 'Do not send it' }).click();
  await page.locator('.notices').getByText("takes the approver's own key").waitFor();
  expect(await phaseOf(left)).toBe('requested');

  const terminal = await asked('close', 'terminal');
  await approve(page, terminal);
  await page.locator('.notices').getByText('signed ssh').waitFor();
  expect(await phaseOf(terminal)).toBe('requested');

  // Another browser has another authenticator.
  const other = await openTab();
  await approve(other, left);
  const asks = other.getByRole('dialog', { name: 'Sign what you decided' });
  await asks.getByRole('button', { name: 'Sign with your passkey' }).click();
  await asks.getByRole('alert').getByText('there is no such passkey here').waitFor();
  await asks.getByRole('button', { name: 'Do not send it' }).click();
  expect(await phaseOf(left)).toBe('requested');
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
    (await client.view(turn)).calls.find(({ phase, votes }) => phase === 'requested' && votes.length === 0),
  );
  expect(struck).toMatchObject({ callId: '1.1' });
  expect(await effects.lines('forged')).toEqual([]);
});
