import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { source } from 'axe-core';
import type { Page } from 'playwright-core';
import { recordTool } from '../support/effects';
import { expectNoComplaints, usePage } from './page-fixture';
import { lookAtAll } from './web-inbox';

const AGENT = 'conversation-page';
/** A folder for pictures; none unless set. */
const SHOTS = process.env['COUNTERSIGN_SHOTS'];

const { web, book, fixture, effects } = usePage(AGENT, (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);
expectNoComplaints(web);

const pays = (tag: string) => ({ text: 'I pay.', toolCalls: [{ name: 'pay', arguments: { tag } }] });

/** What axe finds wrong on a screen in sight, at two widths. */
async function expectSound(page: Page, name: string): Promise<void> {
  await page.evaluate(source);
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    if (SHOTS !== undefined) {
      mkdirSync(SHOTS, { recursive: true });
      writeFileSync(join(SHOTS, `${name}-${width}.png`), await page.screenshot());
    }
    const found = await page.evaluate<string[]>(`
      axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' | ' + target.join(' '))))
    `);
    expect({ name, width, found }).toEqual({ name, width, found: [] });
    const isWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    expect({ name, width, isWide: await page.evaluate(isWide) }).toEqual({ name, width, isWide: false });
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

const say = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Control+Enter');
};

/** Begins a conversation on the page, up to where its first message is written. */
async function begin(): Promise<Page> {
  const page = await web().tab('#/conversations');
  await page.getByLabel('Agent', { exact: true }).fill(AGENT);
  await page.getByLabel('Queue', { exact: true }).fill(fixture().taskQueue);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByRole('heading', { name: `New conversation with ${AGENT}` }).waitFor();
  return page;
}

test('a person starts a conversation, decides what it asks, comes back, and stops a turn', async () => {
  const page = await begin();
  await page.getByRole('button', { name: /^Send/ }).click();
  await page.getByText('Write something first.').waitFor();
  await say(page, book.add({ text: 'Hello \u202e there.' }));
  await page.locator('.said.answer').getByText('there.').waitFor();
  expect(await page.locator('.said.answer .mark').count()).toBe(1);
  await expectSound(page, 'conversation');

  await say(page, book.add(pays('decided'), { text: 'It is paid.' }));
  const ask = page.getByRole('region', { name: 'Waits for a person' }).getByRole('link');
  await ask.getByText('pay tag=decided').waitFor();
  await page.getByLabel('When the agent reads it').waitFor();
  await expectSound(page, 'conversation-asks');
  const place = page.url();
  await ask.click();
  await lookAtAll(page);
  const asked = page.url();
  await page.locator('#approve').click();
  // The next item opens, or the inbox.
  await page.waitForURL((url) => url.href !== asked);
  await page.goto(place);
  await page.locator('.said.answer').getByText('It is paid.').waitFor();
  await ask.waitFor({ state: 'detached' });
  expect(await effects.lines('decided')).toEqual(['pay decided']);

  await say(page, book.add(pays('stopped')));
  await page.getByRole('button', { name: 'Stop the turn' }).click();
  await page.locator('.turn-row').getByText('cancelled').waitFor();
  expect(await effects.lines('stopped')).toEqual([]);

  await page.getByRole('link', { name: 'Conversations' }).first().click();
  const session = decodeURIComponent(place.split('/conversations/').at(-1)?.split('?')[0] ?? '');
  await page.locator('.turn-list').getByText(session).waitFor();
  await expectSound(page, 'conversations');
  await page.context().close();
}, 180_000);

test('what was typed stays through a reload, Back leads from the request to the conversation, and it is closed', async () => {
  const page = await begin();
  await say(page, book.add(pays('open')));
  await page.getByRole('region', { name: 'Waits for a person' }).getByRole('link').click();
  await page.locator('#approve').waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: `Conversation with ${AGENT}` }).waitFor();
  await page.getByLabel('Message', { exact: true }).fill('not sent\nyet');
  await page.reload();
  await page.getByRole('heading', { name: `Conversation with ${AGENT}` }).waitFor();
  expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('not sent\nyet');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByRole('button', { name: 'Stop and close it' }).click();
  await page.getByText('This conversation takes no more messages.').waitFor();
  await page.context().close();
}, 120_000);

test('a conversation that does not exist says so', async () => {
  const page = await web().tab(`#/conversations/none-${randomUUID()}`);
  await page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
  await expectSound(page, 'conversation-gone');
  await page.context().close();
}, 60_000);
