import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import type { ScriptedStep } from '../../src/models/scripted';
import { recordTool } from '../support/effects';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { asksOf, lookAtAll, say, talkPlace, signOut } from './web-inbox';

const AGENT = 'messages-page';
const { web, book, fixture, effects, client } = usePage(AGENT, (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);
expectNoComplaints(web);

const pays = (tag: string) => ({ toolCalls: [{ name: 'pay', arguments: { tag } }] });
const composer = (page: Page) => page.getByLabel('Message', { exact: true });
const notice = (page: Page, text: string) => page.locator('.notices').getByText(text).waitFor();
const answered = (page: Page, text: string) => page.locator('.said.answer').getByText(text).waitFor();
const turnRow = (page: Page, text: string) => page.locator('.turn-row').getByText(text).waitFor();

/** A conversation that began with these steps. */
async function begin(...steps: ScriptedStep[]) {
  const id = `talk-${randomUUID()}`;
  const session = client().session(id, { agent: AGENT, taskQueue: fixture().taskQueue });
  await session.send({ text: book.add(...steps), sender: 'owner' });
  return session;
}

/** The same as the page shows it. */
async function talk(...steps: ScriptedStep[]) {
  const session = await begin(...steps);
  const page = await web().tab(talkPlace(session.id));
  await page.getByRole('heading', { name: `Conversation with ${AGENT}` }).waitFor();
  return { page, session };
}

/** Waits until so many messages with a text are on record. */
const recorded = (session: { history(): Promise<{ messages: { text: string }[] }> }, text: string) =>
  until(`${text} to be on record`, async () => {
    const { messages } = await session.history();
    const same = messages.filter((one) => one.text === text);
    return same.length === 0 ? undefined : same;
  });

test('a message that steers is read by the turn that runs, and stands in it', async () => {
  const { page } = await talk(pays('steered'), ({ messages }) => ({
    text: messages.some(({ content }) => content.includes('be brief')) ? 'I was brief.' : 'I did not hear.',
  }));
  await asksOf(page).getByRole('article').waitFor();
  await page.getByLabel('When the agent reads it').selectOption({ label: 'into this turn' });
  await say(page, 'be brief');
  await notice(page, 'Sent. The turn reads it before its next step.');
  await page.getByRole('region', { name: 'Messages that wait' }).getByText('steer, waits').waitFor();
  await lookAtAll(page);
  await page.locator('#approve').click();
  await answered(page, 'I was brief.');
  await page.locator('.exchanges li').getByText('be brief').waitFor();
  expect(await page.locator('.exchanges > li').count()).toBe(1);
  await page.context().close();
});

test('a message that interrupts stops the turn, and the next one is about it', async () => {
  const { page } = await talk({ text: 'I pay it **now**.', ...pays('interrupted') });
  await asksOf(page).getByRole('article').waitFor();
  await page.getByLabel('When the agent reads it').selectOption({ label: 'stop this turn first' });
  await say(page, book.add({ text: 'Something else then.' }));
  await notice(page, 'Sent. The turn is stopped for it.');
  await turnRow(page, 'cancelled');
  // History has no answer of this turn; who watched keeps what the model had said.
  const stopped = page.locator('.said.answer', { hasText: 'It was stopped here.' });
  expect(await stopped.locator('strong').innerText()).toBe('now');
  await answered(page, 'Something else then.');
  expect(await effects.lines('interrupted')).toEqual([]);
  await page.context().close();
});

test('a message counts once: clicked twice, and sent again because its answer was lost', async () => {
  const { page, session } = await talk(pays('busy'));
  await asksOf(page).getByRole('article').waitFor();
  await composer(page).fill('clicked twice');
  await page.getByRole('button', { name: /^Send/ }).dblclick();
  await notice(page, 'Sent. It waits for the turns before it.');
  expect(await recorded(session, 'clicked twice')).toHaveLength(1);

  let lost = 0;
  await page.route('**/messages', async (route: Route) => {
    lost += 1;
    await route.fetch();
    await route.abort();
  });
  await say(page, 'answer is lost');
  await page.locator('#say-problem').getByText('The web inbox does not answer.').waitFor();
  expect(await composer(page).inputValue()).toBe('answer is lost');
  expect(await recorded(session, 'answer is lost')).toHaveLength(1);
  await page.unroute('**/messages');
  await page.getByRole('button', { name: /^Send/ }).click();
  await page.locator('#say:not([readonly]):placeholder-shown').waitFor();
  expect(lost).toBe(1);
  expect(await recorded(session, 'answer is lost')).toHaveLength(1);
  await page.context().close();
});

test('a message of over 1 MiB is refused in words, and stays in the composer', async () => {
  const { page, session } = await talk({ text: 'Hello.' });
  await answered(page, 'Hello.');
  const long = 'long '.repeat(220_000);
  await say(page, long);
  await page.getByText('This is over 1 MiB. Put it into a file that the agent can read.').waitFor();
  expect((await composer(page).inputValue()).length).toBe(long.length);
  expect((await session.history()).messages).toHaveLength(1);
  await say(page, book.add({ text: 'That was shorter.' }));
  await answered(page, 'That was shorter.');
  await page.context().close();
});

/** The conversation in a browser of somebody else. */
async function joinedBy(name: string, session: string, rights: 'converse'[]): Promise<Page> {
  const page = await web().tab();
  const token = await web().addUser(name, rights);
  await signOut(page);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  await page.goto(`${web().url}/${talkPlace(session)}`);
  return page;
}

test('two people talk in one conversation, each reads who said what, and one without the right only reads', async () => {
  const { page, session } = await talk({ text: 'Hello, both.' });
  const [bea, cleo] = await Promise.all([
    joinedBy('bea', session.id, ['converse']),
    joinedBy('cleo', session.id, []),
  ]);
  await answered(bea, 'Hello, both.');
  await say(bea, book.add({ text: 'Hello, Bea.' }));
  for (const one of [page, bea, cleo]) {
    await answered(one, 'Hello, Bea.');
    expect(await one.locator('.said.person .quiet bdo').allInnerTexts()).toEqual(['owner', 'bea']);
  }
  await say(page, book.add({ text: 'Hello, owner.' }));
  for (const one of [page, bea, cleo]) await answered(one, 'Hello, owner.');
  await cleo.getByText('You may read this conversation. To write in it you need the right to.').waitFor();
  expect(await composer(cleo).count()).toBe(0);
  expect(await cleo.getByRole('button', { name: 'Compact' }).count()).toBe(0);
  await Promise.all([page, bea, cleo].map((one) => one.context().close()));
});

test('a conversation that was closed meanwhile takes nothing more, and shows what was typed for it', async () => {
  const { page, session } = await talk({ text: 'Hello.' });
  await answered(page, 'Hello.');
  await composer(page).fill('too late');
  await session.close();
  await page.getByText('This conversation takes no more messages.').waitFor();
  expect(await page.getByLabel('Message that was not sent').inputValue()).toBe('too late');
  expect(await page.getByRole('button', { name: /^(Send|Close|Pause|Compact)/ }).count()).toBe(0);
  await page.context().close();
});

/** Everything that text could have brought into the page. */
const INJECTED = '#main :is(img, iframe, script, style, [onerror], a[href^="javascript"])';

test('names and messages that deceive are text, and are marked', async () => {
  const text = 'pay \u202etxt.exe to раypal <img src=x onerror=alert(1)>';
  const session = await begin({ text: 'I read \u202eit\u200b.' });
  await session.pause();
  await session.send({ text, sender: '<script>alert(1)</script> раypal' });
  const page = await web().tab(talkPlace(session.id));
  const waits = page.getByRole('region', { name: 'Messages that wait' });
  await waits.getByText('<img src=x onerror=alert(1)>').waitFor();
  await waits.getByText('<script>alert(1)</script>').waitFor();
  const marksIn = (part: string) => waits.locator(`${part} .mark`).allInnerTexts();
  expect((await marksIn('p.quiet')).join(' ')).toMatch(/Cyrillic/);
  expect((await marksIn('p:not(.quiet)')).join(' ')).toBe('⟦U+202E⟧');
  await page.locator('.said.answer').waitFor();
  expect(await page.locator('.said.answer .mark').allInnerTexts()).toEqual(['⟦U+202E⟧', '⟦U+200B⟧']);
  expect(await page.locator('#main').innerText()).not.toMatch(/[\u202e\u200b]/);
  expect(await page.locator(INJECTED).count()).toBe(0);
  await session.close();
  await page.goto(`${web().url}/#/conversations?agent=${AGENT}`);
  await page.locator('.turn-list').getByText(session.id).waitFor();
  expect(await page.locator(INJECTED).count()).toBe(0);
  await page.context().close();
});
