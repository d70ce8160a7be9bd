import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { inboxAwaySigner, openInboxKey } from '../../src/authority/inbox-key';
import { openApprovers } from '../../src/authority/source';
import { connect, type Countersign } from '../../src/client';
import { type RunningWeb, startWeb } from '../../src/server';
import { createUsers } from '../../src/server/auth/users';
import { defineAgent } from '../../src/tools/define-agent';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { confirm, holdFirst, openAccount } from './web-inbox';

const complaints: string[] = [];
const tokens = new Map<string, string>();
let fixture: Fixture;
let client: Countersign;
let web: RunningWeb;
let browser: Browser;

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  ensureBuilt();
  // Its worker also works for the workflow that holds who is away.
  const agents = [defineAgent({ name: 'any', instructions: 'do', model: scriptBook().model, tools: [] })];
  fixture = await startFixture({ ownServer: {}, agents });
  const key = await openInboxKey(join(fixture.directory, 'inbox.pem'));
  const file = join(fixture.directory, 'approvers.yaml');
  await writeFile(
    file,
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: {}, bob: {}, cleo: {}, vic: {}, boss: {} }
roles: { admins: [boss], viewers: [vic] }
inboxKeys: ['${key.line}']
rules: [{ name: default, then: by_safety }]
`,
  );
  client = await connect({ address: fixture.address });
  const approvers = await openApprovers({ file, warn: (line) => void complaints.push(line) });
  const people = () => approvers.current();
  const usersFile = join(fixture.directory, 'users.json');
  for (const name of ['ann', 'bob', 'vic', 'boss']) tokens.set(name, await createUsers(usersFile).add(name));
  web = await startWeb({
    ...{ client, port: 0, undoMs: 0, localUser: 'nobody', version: '1.2.3', pageDir: lib('web') },
    ...{ usersFile, refusalsFile: join(fixture.directory, 'refusals.jsonl') },
    ...{ awaySigner: inboxAwaySigner({ key, approvers }), people, voters: people },
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
afterEach(async () => {
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
  expect(complaints).toEqual([]);
});

/** The screen as a person has it, opened by the menu under their name. */
async function openScreen(name: string): Promise<Page> {
  const page = await (await browser.newContext({ timezoneId: 'Asia/Tokyo' })).newPage();
  page.setDefaultTimeout(20_000);
  page.on('pageerror', (error) => void complaints.push(error.message));
  await page.goto(web.url);
  await page.getByLabel('Token').fill(tokens.get(name) ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  await openAccount(page);
  await page.getByRole('link', { name: 'Out of office' }).click();
  await page.getByRole('heading', { name: 'Out of office' }).waitFor();
  return page;
}

/** A day that is `ahead` days from now, at noon, as a field of the form takes it. */
const noon = (ahead: number): string =>
  `${new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10)}T12:00`;

const fill = async (page: Page, fields: Record<string, string>): Promise<void> => {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
};
const entries = async () => (await client.away.list()).entries;

test('a person leaves and comes back by the keyboard alone, in the time of their browser', async () => {
  const page = await openScreen('ann');
  await page.getByText('Nobody.').waitFor();
  await fill(page, { 'Who votes': 'bob', Until: noon(3), Reason: 'a holiday' });
  await page.keyboard.press('Enter');
  await page.getByText(/^Saved. bob votes in your place from .* until .*\.$/).waitFor();
  // Noon in Tokyo is three o'clock in the morning, UTC.
  expect(await entries()).toMatchObject([
    { from: 'ann', to: 'bob', reason: 'a holiday', signature: { kind: 'inbox' } },
  ]);
  expect((await entries())[0]?.end).toBe(`${noon(3).slice(0, 10)}T03:00:00.000Z`);
  await page.getByText(/signed in · “a holiday”/).waitFor();
  expect(await page.getByLabel('Who votes').inputValue()).toBe('');

  await page.getByRole('button', { name: 'I am back …' }).focus();
  await confirm(
    page,
    () => page.keyboard.press('Enter'),
    async () => {
      expect(await entries()).toHaveLength(1);
      await page.keyboard.press('Enter');
    },
  );
  await page.getByText('Nobody.').waitFor();
  expect(await entries()).toEqual([]);
  expect(await page.evaluate('document.activeElement?.id')).toBe('away-title');
});

test('an answer that comes late does not replace a newer one', async () => {
  const page = await openScreen('ann');
  await page.goto(`${web.url}/#/`);
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  const late = await holdFirst(page, '**/api/away');
  await page.goto(`${web.url}/#/away`);
  await late.taken;
  await fill(page, { 'Who votes': 'bob', Until: noon(3), Reason: 'a holiday' });
  await page.keyboard.press('Enter');
  await page.getByText(/signed in · “a holiday”/).waitFor();
  await late.release();
  expect(await page.getByText(/signed in · “a holiday”/).count()).toBe(1);
});

test.each([
  ['a person whom the file does not have', { 'Who votes': 'zoe', Until: noon(2) }, 'zoe is not in the'],
  ['oneself', { 'Who votes': 'ann', Until: noon(2) }, 'nobody votes in their own place'],
  ['an end before the start', { 'Who votes': 'bob', From: noon(3), Until: noon(2) }, 'end'],
  ['more than 30 days', { 'Who votes': 'bob', Until: noon(40) }, '30 days'],
  ['a long reason', { 'Who votes': 'bob', Until: noon(2), Reason: 'ü'.repeat(251) }, 'over 500 bytes'],
])('%s is refused in words, and what was typed stays', async (_, fields, words) => {
  const page = await openScreen('ann');
  await fill(page, fields);
  await page.getByRole('button', { name: 'I am away' }).click();
  const alert = page.locator('.problem');
  await alert.filter({ hasText: words }).waitFor();
  for (const [label, value] of Object.entries(fields))
    expect(await page.getByLabel(label).inputValue()).toBe(value);
  expect(await entries()).toEqual([]);
});

test('the form says how much of its bytes a reason takes', async () => {
  const page = await openScreen('ann');
  const reason = page.getByLabel('Reason');
  await reason.fill('ü'.repeat(251));
  await page.getByText('502 of 500 bytes: make it shorter.').waitFor();
  expect(await reason.getAttribute('aria-invalid')).toBe('true');
  await reason.fill('ü'.repeat(250));
  await page.getByText('500 of 500 bytes', { exact: true }).waitFor();
  expect(await reason.getAttribute('aria-invalid')).toBe('false');
});

test('a form without an end is not sent', async () => {
  const page = await openScreen('ann');
  await fill(page, { 'Who votes': 'bob' });
  await page.getByRole('button', { name: 'I am away' }).click();
  expect(await page.evaluate('document.activeElement?.id')).toBe('away-end');
  expect(await entries()).toEqual([]);
});

test('a viewer only looks, others end only their own, and an admin ends any', async () => {
  const ann = await openScreen('ann');
  await fill(ann, { 'Who votes': 'cleo', From: noon(1), Until: noon(2) });
  await ann.keyboard.press('Enter');
  await ann.getByText(/^from /).waitFor();
  for (const name of ['vic', 'bob']) {
    const page = await openScreen(name);
    await page.getByText('cleo votes in the place of ann').waitFor();
    expect(await page.getByRole('button', { name: /ann$/ }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'I am away' }).count()).toBe(name === 'vic' ? 0 : 1);
  }
  const boss = await openScreen('boss');
  await confirm(
    boss,
    () => boss.getByRole('button', { name: 'End it …' }).dblclick(),
    async () => {
      expect(await entries()).toHaveLength(1);
      await boss.getByRole('button', { name: 'End it now' }).click();
    },
  );
  await boss.getByText('Nobody.').waitFor();
  expect(await entries()).toEqual([]);
});
