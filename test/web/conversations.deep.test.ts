import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { recordTool } from '../support/effects';
import { expectNoComplaints, usePage } from './page-fixture';
import { asksOf, lookAtAll, say } from './web-inbox';

const AGENT = 'conversation-page';
const { web, book, fixture, effects } = usePage(AGENT, (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);
expectNoComplaints(web);

const pays = (tag: string) => ({ text: 'I pay.', toolCalls: [{ name: 'pay', arguments: { tag } }] });

/** Begins a conversation on the page, up to where its first message is written. */
async function begin(): Promise<Page> {
  const page = await web().tab('#/conversations');
  await page.getByLabel('Agent of the new conversation').selectOption('another …');
  await page.getByLabel('Name', { exact: true }).fill(AGENT);
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

  await say(page, book.add(pays('decided'), { text: 'It is paid.' }));
  await asksOf(page).getByRole('article').waitFor();
  await page.getByLabel('When the agent reads it').waitFor();
  const place = page.url();
  await lookAtAll(page);
  await page.locator('#approve').click();
  await page.locator('.said.answer').getByText('It is paid.').waitFor();
  await asksOf(page).waitFor({ state: 'detached' });
  expect(await effects.lines('decided')).toEqual(['pay decided']);

  await say(page, book.add(pays('stopped')));
  await page.getByRole('button', { name: 'Stop the turn' }).click();
  await page.locator('.turn-row').getByText('cancelled').waitFor();
  expect(await effects.lines('stopped')).toEqual([]);

  await page.getByRole('link', { name: 'Conversations' }).first().click();
  const session = decodeURIComponent(place.split('/conversations/').at(-1)?.split('?')[0] ?? '');
  await page.locator('.turn-list').getByText(session).waitFor();
  // The list of one agent alone is in the address, and stays on the way to a conversation and back.
  await page.getByLabel('Only of agent').selectOption(AGENT);
  await page.waitForURL(`**/#/conversations?agent=${AGENT}`);
  await page.locator('.turn-list').getByText(session).click();
  await page.getByRole('heading', { name: `Conversation with ${AGENT}` }).waitFor();
  await page.getByRole('link', { name: 'Conversations' }).first().click();
  await page.waitForURL(`**/#/conversations?agent=${AGENT}`);
  await page.reload();
  await page.locator('.turn-list').getByText(session).waitFor();
  expect(await page.getByLabel('Only of agent').inputValue()).toBe(AGENT);
  await page.goto(`${web().url}/#/conversations?agent=nobody`);
  await page.getByText('There are no conversations with this agent.').waitFor();
  await page.context().close();
});

test('what was typed stays through a reload, Back leads from the request to the conversation, and it is closed', async () => {
  const page = await begin();
  await say(page, book.add(pays('open')));
  await asksOf(page).getByRole('link', { name: 'Open in the inbox' }).click();
  await page.locator('.detail-pane #approve').waitFor();
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
});

test('a conversation that does not exist says so', async () => {
  const page = await web().tab(`#/conversations/none-${randomUUID()}`);
  await page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
  await page.context().close();
});

test('a place in the list that the server does not know any more leads to the newest conversations', async () => {
  const page = await web().tab(`#/conversations?agent=${AGENT}&older=of-an-old-version`);
  await page.waitForURL(`**/#/conversations?agent=${AGENT}`);
  await page.getByText('Reading …').waitFor({ state: 'detached' });
  expect(await page.locator('.notice.bad').count()).toBe(0);
  await page.context().close();
});
