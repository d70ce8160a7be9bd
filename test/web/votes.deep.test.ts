import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { inboxSigner, openInboxKey } from '../../src/authority/signatures/inbox-key';
import { openApprovers } from '../../src/authority/rules/current-file';
import { connect, type Countersign } from '../../src/client';
import type { JsonObject } from '../../src/contract/json';
import { type RunningWeb, startWeb } from '../../src/server';
import { createUsers } from '../../src/server/auth/users';
import { defineAgent } from '../../src/tools/define-agent';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { planTool } from '../support/plan-tool';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { unnamedIn } from './accessible';
import { callPlace, confirm, lookAtAll } from './web-inbox';

const effects = useEffects();
const book = scriptBook();
const complaints: string[] = [];
let fixture: Fixture;
let client: Countersign;
let web: RunningWeb;
let browser: Browser;

const approversFile = (inboxKey: string): string => `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { owner: {}, anna: {}, bob: {}, boss: {}, carl: {} }
inboxKeys: ['${inboxKey}']
roles: { admins: [boss] }
rules:
  - { name: parts, tools: [propose_lines], then: ask, approvers: { any: [owner, bob], need: 2 }, assurance: signed_in }
  - { name: two, tools: [pay], then: ask, approvers: { any: [owner, anna, bob], need: 2 } }
  - { name: default, then: by_safety }
`;

beforeAll(async () => {
  ensureBuilt();
  fixture = await startFixture({});
  const file = join(fixture.directory, 'approvers.yaml');
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  await writeFile(file, approversFile(key.line));
  const pay = recordTool(effects, { name: 'pay', safety: 'dangerous' });
  const payer = defineAgent({
    name: 'voted',
    instructions: 'do',
    model: book.model,
    tools: [pay, planTool(effects)],
  });
  await fixture.addWorker({}, { agents: [payer], approvers: file });
  client = await connect({ address: testAddress() });
  const approvers = await openApprovers({ file, warn: (line) => void complaints.push(line) });
  web = await startWeb({
    ...{
      client,
      port: 0,
      basePath: '/tools/inbox',
      undoMs: 0,
      localUser: 'owner',
      version: '1.2.3',
      pageDir: lib('web'),
    },
    usersFile: join(fixture.directory, 'users.json'),
    refusalsFile: join(fixture.directory, 'refusals.jsonl'),
    ...{ people: approvers.current, voters: approvers.current, signer: inboxSigner({ key, approvers }) },
    onLink: () => undefined,
    report: (error) => void complaints.push(String(error)),
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await web?.stop();
  await client?.close();
});
afterEach(() => expect(complaints).toEqual([]));

/** A tab of somebody of the approvers file; `owner` uses the link of the terminal. */
async function openTab(user = 'owner'): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => void complaints.push(error.message));
  if (user === 'owner') await page.goto(web.drawLink() ?? '');
  else {
    const token = await createUsers(join(fixture.directory, 'users.json')).add(user);
    // Without the slash at its end it leads to the page.
    await page.goto(web.url);
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
  }
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  return page;
}

async function asked(tag: string, name = 'pay', more: JsonObject = {}): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag, ...more } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'voted', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

const callOf = async (turn: string) => (await client.view(turn)).calls[0];
const votersOf = async (turn: string) => (await callOf(turn))?.votes.map(({ voter }) => voter);

async function vote(turn: string, approver: string): Promise<void> {
  const { seenDigest = '', callKey = '' } = (await callOf(turn))?.request ?? {};
  await client.decide(turn, { callId: '1.1', decision: 'approved', approver, seenDigest, callKey });
}

const open = (page: Page, turn: string) => page.goto(`${web.url}/${callPlace(turn)}`);
const withdraw = (page: Page) => page.getByRole('button', { name: 'Withdraw my vote …' });
const again = (page: Page) => page.getByRole('button', { name: 'Ask again …' });
const focused = (page: Page): Promise<string> => page.evaluate<string>('document.activeElement.className');

test('a vote is withdrawn in the page, which says first what that does, and can be cast anew', async () => {
  const turn = await asked('withdrawn');
  const page = await openTab();
  await open(page, turn);
  await lookAtAll(page);
  expect(await withdraw(page).count()).toBe(0);
  await page.locator('#approve[aria-disabled="false"]').click();
  await page.locator('.notices').getByText('Your vote, 1 of 2: pay').waitFor();
  await open(page, turn);
  await page.getByText('You voted. Waits for anna or bob.').waitFor();
  // Taking the vote back is all that is left to do.
  for (const key of ['a', 'd', 'e']) await page.keyboard.press(key);
  expect(await page.locator('#approve, #reason, #change, #edit, .grant-offer').count()).toBe(0);
  await withdraw(page).focus();
  await confirm(
    page,
    () => page.keyboard.press('Enter'),
    async () => {
      await page.getByText('Your approval counts no more then').waitFor();
      expect(await votersOf(turn)).toEqual(['owner']);
      expect(await unnamedIn(page)).toEqual([]);
      await page.keyboard.press('Enter');
    },
  );
  await page.locator('.notices').getByText('Took back the vote on pay').waitFor();
  await withdraw(page).waitFor({ state: 'detached' });
  expect(await focused(page)).toBe('call-title');
  expect(await votersOf(turn)).toEqual([]);
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled="false"]').click();
  await page.locator('.notices').getByText('It still waits').waitFor();
  await vote(turn, 'anna');
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('withdrawn')).toEqual(['pay withdrawn']);
  await page.context().close();
});

test('two people approve the same hunks, under the signature of the web inbox, and only those run', async () => {
  const turn = await asked('parts', 'propose_lines', { lines: ['one', 'two', 'three'] });
  const first = await openTab();
  await open(first, turn);
  await lookAtAll(first);
  await first.keyboard.press('2');
  await first.getByRole('button', { name: 'Approve 2 of 3 hunks' }).click();
  await first.locator('.notices').getByText('Your vote, 1 of 2').waitFor();
  await first.context().close();
  const second = await openTab('bob');
  await open(second, turn);
  await lookAtAll(second);
  await second.getByRole('button', { name: 'Approve 2 of 3 hunks' }).click();
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('parts')).toEqual(['propose_lines parts +one+three']);
  expect((await callOf(turn))?.votes).toMatchObject(
    ['owner', 'bob'].map((voter) => ({ voter, signedBy: 'inbox', hunks: ['1', '3'] })),
  );
  await second.context().close();
});

test('the buttons follow what others do meanwhile', async () => {
  const turn = await asked('meanwhile');
  const page = await openTab();
  await open(page, turn);
  await lookAtAll(page);
  expect(await withdraw(page).count()).toBe(0);
  await vote(turn, 'owner');
  await page.clock.install();
  await withdraw(page).click();
  await page.getByRole('button', { name: 'Withdraw it now' }).waitFor();
  await page.clock.fastForward(1_000);
  // The page has not heard yet of the last vote, so what it sends comes too late.
  let go: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  await page.route('**/decisions', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Withdraw it now' }).click();
  await vote(turn, 'anna');
  await fixture.client.workflow.getHandle(turn).result();
  go();
  await page.getByRole('alert').getByText('It is decided already.').waitFor();
  await withdraw(page).waitFor({ state: 'detached' });
  expect(await effects.lines('meanwhile')).toEqual(['pay meanwhile']);
  await page.context().close();
});

test('an admin asks again with a reason, which voids the votes', async () => {
  const turn = await asked('again');
  await vote(turn, 'anna');
  const page = await openTab('boss');
  await open(page, turn);
  await again(page).click();
  const dialog = page.getByRole('dialog', { name: 'Ask again' });
  await dialog.getByText('Its 1 vote counts no more').waitFor();
  expect(await unnamedIn(page)).toEqual([]);
  await page.keyboard.press('Escape');
  // A closed dialog is still there until the page hears of it.
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Ask again …');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Close' }).press('Enter');
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Ask again …');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  const send = dialog.getByRole('button', { name: 'Ask again' });
  expect(await send.getAttribute('aria-disabled')).toBe('true');
  await dialog.getByLabel('Why, for the record').fill('anna is away');
  await send.click();
  await page.locator('.notices').getByText('Asked again about pay').waitFor();
  await until('the new request', async () => {
    const call = await callOf(turn);
    return call?.phase === 'request' && call.votes.length === 0;
  });
  await again(page).waitFor();
  expect(await withdraw(page).count()).toBe(0);
  expect(await effects.lines('again')).toEqual([]);
  await page.context().close();
});

test('a dialog that opens right after another one was closed stays open', async () => {
  const turn = await asked('opened twice');
  const page = await openTab();
  await open(page, turn);
  await again(page).click();
  await page.getByRole('dialog', { name: 'Ask again' }).waitFor();
  // All in one task of the browser, which tells a dialog in a later one that it was closed.
  const isOpen = await page.evaluate<boolean>(`(async () => {
    const click = (text) =>
      [...document.querySelectorAll('button')].find((button) => button.textContent.trim() === text).click();
    click('Close');
    for (let i = 0; i < 1_000 && document.querySelector('dialog') !== null; i++) await undefined;
    click('Ask again …');
    for (let i = 0; i < 1_000 && document.querySelector('dialog') === null; i++) await undefined;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return document.querySelector('dialog[open]') !== null;
  })()`);
  expect(isOpen).toBe(true);
  await page.context().close();
});

test('who may not ask again has no button, and the worker has the last word', async () => {
  const turn = await asked('no admin');
  await vote(turn, 'anna');
  const anna = await openTab('anna');
  await open(anna, turn);
  await withdraw(anna).waitFor();
  expect(await again(anna).count()).toBe(0);
  await anna.context().close();
  // Whoever has the terminal's link is an admin of the page, and not by the worker's file.
  const page = await openTab();
  await open(page, turn);
  await again(page).click();
  const dialog = page.getByRole('dialog', { name: 'Ask again' });
  await dialog.getByLabel('Why, for the record').fill('I want it');
  await dialog.getByRole('button', { name: 'Ask again' }).click();
  await page.getByText('owner is not an admin by the approvers file').first().waitFor();
  expect(await votersOf(turn)).toEqual(['anna']);
  await page.context().close();
});

test('two people who have a request open read so, and history does not', async () => {
  const turn = await asked('both');
  const page = await openTab();
  await open(page, turn);
  await page.getByRole('article', { name: 'Request 1.1' }).waitFor();
  const other = await openTab('carl');
  await open(other, turn);
  await other.getByText('owner has it open, too').waitFor();
  await page.reload();
  await page.getByText('carl has it open, too').waitFor();
  expect(JSON.stringify(await client.timeline(turn))).not.toContain('carl');
});
