import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { JsonObject } from '../../src/contract/json';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { askUser } from '../../src/tools/builtin/ask-user';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import type { ScriptedStep } from '../../src/models/scripted';
import { recordTool } from '../support/effects';
import { planTool } from '../support/plan-tool';
import { readBack, scriptBook } from '../support/script-book';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { asksOf, lookAtAll, say, talkPlace } from './web-inbox';

const AGENT = 'asks-in-place';
const childBook = scriptBook();

const { web, book, fixture, effects, client } = usePage(
  AGENT,
  (written) => {
    const pay = recordTool(written, { name: 'pay', safety: 'dangerous' });
    const broken = recordTool(written, { name: 'wire', safety: 'dangerous' }, () => {
      throw new TransportError('the line broke');
    });
    const child = defineAgent({
      ...{ name: 'asks-child', instructions: 'do', model: childBook.model },
      tools: [recordTool(written, { name: 'child_pay', safety: 'dangerous' })],
    });
    return [pay, broken, planTool(written), askUser(), agentTool(child, { name: 'give' })];
  },
  0,
  {},
);
expectNoComplaints(web);

const call = (name: string, args: JsonObject) => ({ name, arguments: args });
const pay = (tag: string, more: JsonObject = {}) => call('pay', { tag, ...more });

/** A conversation whose turn follows these steps, as the page shows it. */
async function talk(...steps: ScriptedStep[]): Promise<{ page: Page; session: string }> {
  const session = `asks-${randomUUID()}`;
  const { taskQueue } = fixture();
  await client()
    .session(session, { agent: AGENT, taskQueue })
    .send(book.add(...steps));
  const page = await web().tab(talkPlace(session));
  await asksOf(page).waitFor();
  return { page, session };
}

const panel = (page: Page) => asksOf(page).getByRole('article');
const composer = (page: Page) => page.getByLabel('Message', { exact: true });
const said = (page: Page, text: string) => page.locator('.said.answer').getByText(text).waitFor();

/** The effects of a tag, once there are so many. */
const effectsOf = (tag: string, count: number) =>
  until(`${count} effects of ${tag}`, async () => {
    const lines = await effects.lines(tag);
    return lines.length === count ? lines : undefined;
  });

test('a request is decided in the conversation, by the rules of its own page, and the next one opens', async () => {
  const { page, session } = await talk(
    { text: 'Two.', toolCalls: [pay('one'), pay('two', { to: 'раypal' })] },
    { text: 'Both are done.' },
  );
  await panel(page).getByRole('heading', { name: 'pay' }).waitFor();
  expect(await page.locator('h1').count()).toBe(1);
  await panel(page).getByText('one', { exact: true }).waitFor();
  await lookAtAll(page);
  await page.locator('#approve').click();
  await page.locator('.notices').getByText('Approved pay').waitFor();
  await panel(page).getByText('two', { exact: true }).waitFor();
  // What passes for something else has to be confirmed here too.
  await lookAtAll(page);
  await panel(page).getByText('Confirm first that you looked at the marked characters.').waitFor();
  expect(await page.locator('#approve').getAttribute('aria-disabled')).toBe('true');
  await panel(page).getByLabel('Reason').fill('not to them');
  await page.keyboard.press('Control+Enter');
  await said(page, 'Both are done.');
  await asksOf(page).waitFor({ state: 'detached' });
  expect(page.url()).toContain(talkPlace(session));
  expect(await effects.lines('pay one')).toHaveLength(1);
  expect(await effects.lines('pay two')).toEqual([]);
  // Who decided goes on writing.
  await page.locator('#say:focus').waitFor();
  await page.context().close();
});

test('arguments are changed in the conversation, and what comes of them is looked at before it runs', async () => {
  const lines = ['one', 'two'];
  const { page } = await talk({ toolCalls: [call('propose_lines', { tag: 'edits', lines })] }, readBack);
  await panel(page)
    .getByRole('button', { name: /^Change/ })
    .click();
  await page.locator('#edit').getByLabel('2', { exact: true }).fill('zwei');
  await panel(page).getByText('This preview is out of date.').waitFor();
  await panel(page).getByRole('button', { name: 'See what it does now' }).click();
  await panel(page).getByRole('region', { name: 'What it does' }).getByText('+zwei').waitFor();
  await lookAtAll(page);
  await page.locator('#approve').click();
  expect(await effectsOf('propose_lines edits', 1)).toEqual(['propose_lines edits +one+zwei']);
  await page.context().close();
});

test('a question is answered, and a call in doubt resolved, in the conversation', async () => {
  const { page } = await talk(
    { toolCalls: [call('ask_user', { question: 'Which colour?' })] },
    { toolCalls: [call('wire', { tag: 'doubt' })] },
    readBack,
  );
  await panel(page).getByText('Which colour?').waitFor();
  await panel(page).getByRole('textbox').first().fill('the green one');
  await page.locator('#approve[aria-disabled=false]').click();
  await panel(page).getByRole('heading', { name: 'wire' }).waitFor();
  await lookAtAll(page);
  await page.locator('#approve').click();
  await panel(page).getByText('It was started, and nobody knows whether it happened.').waitFor();
  await panel(page)
    .getByRole('radio', { name: /^It happened/ })
    .check();
  await panel(page).getByLabel('How you know').fill('the bank says so');
  await panel(page).getByRole('button', { name: 'Say that it happened' }).click();
  await said(page, 'the green one');
  expect(await effects.lines('wire doubt')).toHaveLength(1);
  await page.context().close();
});

test('what a child turn asks is decided in the conversation of its parent', async () => {
  const task = childBook.add(
    { toolCalls: [call('child_pay', { tag: 'child' })] },
    { text: 'The child paid.' },
  );
  const { page } = await talk({ toolCalls: [call('give', { task })] }, readBack);
  await panel(page).getByRole('heading', { name: 'child_pay' }).waitFor();
  await panel(page).getByText('asks-child').first().waitFor();
  await lookAtAll(page);
  await page.locator('#approve').click();
  expect(await effectsOf('child_pay child', 1)).toHaveLength(1);
  await said(page, 'The child paid.');
  await page.context().close();
});

test('a decision that comes too late is refused in words, and what was typed stays', async () => {
  const { page, session } = await talk({ toolCalls: [pay('late')] }, { text: 'Late is done.' });
  await lookAtAll(page);
  await panel(page).getByLabel('Reason').fill('my reason');
  // Its server's news are held back: this tab stays as stale as one on a slow line.
  await page.route('**/api/turns/*/calls/*', (route) => route.abort());
  const { rows } = await client()
    .session(session)
    .history()
    .then(({ turns }) => ({ rows: turns }));
  const turn = rows[0]?.turn ?? '';
  await client().decideOrThrow(turn, { callId: '1.1', decision: 'denied', approver: 'ann', reason: 'no' });
  await page.locator('#approve').click();
  await panel(page)
    .getByText(/It is decided already.*ann denied it/)
    .waitFor();
  expect(await panel(page).getByLabel('Reason').inputValue()).toBe('my reason');
  await page.unroute('**/api/turns/*/calls/*');
  await page.reload();
  await said(page, 'Late is done.');
  expect(await effects.lines('pay late')).toEqual([]);
  await page.context().close();
});

test('who writes a message is not disturbed, one that is folded up stays so, and what was typed comes back', async () => {
  const { page, session } = await talk({ toolCalls: [pay('first')] }, { toolCalls: [pay('second')] });
  await panel(page).getByLabel('Reason').fill('half a reason');
  await page.getByRole('button', { name: 'Fold up' }).click();
  const row = asksOf(page).getByRole('button', { name: /tag=first/ });
  await row.waitFor();
  await composer(page).fill('half a message');
  // The part that writes messages is the last one to arrive.
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  await page.route('**/composer.js', (route) => arrived.then(() => route.continue()));
  await page.reload();
  await row.waitFor();
  arrive();
  await composer(page).waitFor();
  expect(await panel(page).count()).toBe(0);
  await row.click();
  expect(await panel(page).getByLabel('Reason').inputValue()).toBe('half a reason');
  await panel(page).getByRole('button', { name: 'Details' }).click();
  await panel(page)
    .getByRole('link', { name: new RegExp(session) })
    .waitFor();
  await asksOf(page).getByRole('link', { name: 'Open in the inbox' }).click();
  // Whoever goes back before the page has gone is still in the panel.
  await asksOf(page).waitFor({ state: 'detached' });
  expect(await page.getByLabel('Reason').inputValue()).toBe('half a reason');
  await page.goBack();
  await row.waitFor();
  expect(await composer(page).inputValue()).toBe('half a message');
  await say(page, 'half a message and the rest');
  await page.locator('.notices').getByText('Sent. It waits for the turns before it.').waitFor();
  await page.context().close();
});
