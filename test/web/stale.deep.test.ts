import type { Page } from 'playwright-core';
import type { JsonObject } from '../../src/contract/json';
import { recordTool } from '../support/effects';
import { planTool } from '../support/plan-tool';
import { decide } from '../support/turns';
import { callPlace, gate, type HeldAnswer, holdFirst, listOnly, lookAtAll, signOut } from './web-inbox';
import { usePage } from './page-fixture';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';

const {
  effects,
  web,
  start: startTurn,
} = usePage('stale', (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
  recordTool(written, { name: 'brief', safety: 'dangerous', requestExpires: '4s' }),
  planTool(written),
]);

const start = (tag: string, name = 'pay', more: JsonObject = {}): Promise<TurnHandle> =>
  startTurn([{ toolCalls: [{ name, arguments: { tag, ...more } }] }]);

const approve = (page: Page) => page.locator('#approve');

test('of two tabs one decides, and the other shows who did', async () => {
  const handle = await start('two tabs');
  const [first, second] = [
    await web().tab(callPlace(handle.workflowId)),
    await web().tab(callPlace(handle.workflowId)),
  ];
  await Promise.all([lookAtAll(first), lookAtAll(second)]);
  // Its server's news are held back: this tab stays as stale as one on a slow line.
  await second.route('**/api/turns/*/calls/*', (route) => route.abort());
  await approve(first).click();
  await first.locator('.notices').getByText('Approved pay ').waitFor();
  await approve(second).click();
  await second.getByText(/You approved it at .* already\. \(already_decided\)/).waitFor();
  await handle.result();
  expect(await effects.lines('two tabs')).toHaveLength(1);
});

/** The page hears nothing new until it sends a decision: what it shows then is old. */
async function holdBackNews(page: Page): Promise<void> {
  let isHeld = true;
  page.on('request', (request) => {
    if (request.method() === 'POST') isHeld = false;
  });
  await page.route('**/api/turns/*/calls/*', (route) => (isHeld ? route.abort() : route.continue()));
}

test('a page that shows other arguments than those that wait decides nothing, and shows what waits', async () => {
  const handle = await start('stale', 'propose_lines', { lines: ['one', 'two'] });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await page.getByLabel('Reason').fill('kept');
  await holdBackNews(page);
  const edited = { tag: 'stale', lines: ['one', 'zwei'] };
  await decide(handle, { callId: '1.1', decision: 'modified', arguments: edited, approver: 'ann' });
  await until('a new request', async () => {
    const { requests } = await web().client.view(handle.workflowId);
    return requests.some(({ arguments: args }) => JSON.stringify(args).includes('zwei'));
  });
  await approve(page).click();
  await page.getByText(/It changed after you opened it.*\(stale_args\)/).waitFor();
  await page.getByRole('region', { name: 'What it does' }).getByText('+zwei').waitFor();
  expect(await page.getByLabel('Reason').inputValue()).toBe('kept');
  expect(await effects.lines('propose_lines stale')).toEqual([]);
});

test('a request that expires while it is open says so, and cannot be approved any more', async () => {
  const handle = await start('expires', 'brief');
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('.call-title').getByText('expired').waitFor();
  expect(await approve(page).count()).toBe(0);
  expect(await effects.lines('brief')).toEqual([]);
});

test('what another person decides shows by itself, and leaves the inbox', async () => {
  const handle = await start('elsewhere');
  const page = await web().tab(callPlace(handle.workflowId));
  await listOnly(page, 'stale');
  await page.locator('.row', { hasText: 'tag=elsewhere' }).waitFor();
  await decide(handle, { callId: '1.1', decision: 'denied', approver: 'ann', reason: 'no' });
  await page.getByText('denied', { exact: true }).first().waitFor();
  await page.locator('.row', { hasText: 'tag=elsewhere' }).waitFor({ state: 'detached' });
  expect(await page.locator('.said').innerText()).toMatch(/denied by ann/);
});

/** Opens a call, and holds the first answer about it back. */
async function openLate(turn: string): Promise<{ page: Page; late: HeldAnswer }> {
  const page = await web().tab();
  const late = await holdFirst(page, '**/api/turns/*/calls/*');
  await page.goto(`${web().url}/${callPlace(turn)}`);
  await late.taken;
  return { page, late };
}

test('an answer that comes late does not replace a newer one', async () => {
  const handle = await start('late answer');
  const { page, late } = await openLate(handle.workflowId);
  await approve(page).waitFor();
  await decide(handle, { callId: '1.1', decision: 'denied', approver: 'ann', reason: 'no' });
  await page
    .locator('.said')
    .getByText(/denied by ann/)
    .waitFor();
  await late.release();
  expect(await approve(page).count()).toBe(0);
});

test('what another person decides before the inbox came to know the request shows by itself', async () => {
  const handle = await start('early decision');
  const page = await web().tab();
  const decided = gate();
  // The panel asks whether the inbox lists its request, and is answered after the decision.
  await page.route(/\/api\/inbox\?text=/, async (route) => {
    await decided.opened;
    await route.continue();
  });
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await approve(page).waitFor();
  await decide(handle, { callId: '1.1', decision: 'denied', approver: 'ann', reason: 'no' });
  // Once the list of a later tab comes without it, the web inbox does not have it any more.
  const later = await web().tab();
  await later.locator('.row', { hasText: 'tag=early decision' }).waitFor({ state: 'detached' });
  decided.open();
  await page
    .locator('.said')
    .getByText(/denied by ann/)
    .waitFor();
});

test('an answer that comes late is shown if no newer one came', async () => {
  const handle = await start('only answer');
  const { page, late } = await openLate(handle.workflowId);
  await page.route('**/api/turns/*/calls/*', (route) => route.abort());
  await late.release();
  await approve(page).waitFor();
  await handle.terminate();
});

test('after its server was restarted a page signs in again and has lost nothing', async () => {
  const token = await web().addUser('bea');
  const handle = await start('restart');
  const page = await web().tab();
  await signOut(page);
  await signIn(page, token);
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await lookAtAll(page);
  await page.getByLabel('Reason').fill('typed before');
  await web().stopServer();
  await page.getByText('connection lost').waitFor();
  await approve(page).click();
  await page.getByText('What you typed is kept.').waitFor();
  const missed = await start('made while it was down');
  await web().startServer();
  await page.getByText('Your session has ended. Sign in again;').waitFor();
  await signIn(page, token);
  await page.getByText('live', { exact: true }).waitFor();
  await listOnly(page, 'stale');
  await page.locator('.row', { hasText: 'tag=made while it was down' }).waitFor();
  expect(await page.locator('.row', { hasText: 'tag=restart' }).count()).toBe(1);
  expect(await page.getByLabel('Reason').inputValue()).toBe('typed before');
  await approve(page).click();
  await page.locator('.notices').getByText('Approved pay ').waitFor();
  const { calls } = await web().client.view(handle.workflowId);
  expect(calls[0]?.decisions).toMatchObject([{ approver: 'bea', reason: 'typed before' }]);
  await handle.result();
  expect(await effects.lines('restart')).toHaveLength(1);
  await missed.terminate();
});

test('a user who signs in after another one starts from nothing', async () => {
  const handle = await start('another person');
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByLabel('Reason').fill('of the owner');
  await signOut(page);
  await signIn(page, await web().addUser('cleo'));
  expect(await page.getByLabel('Reason').inputValue()).toBe('');
});

/** Signs somebody in in another tab of the browser of a page. */
async function signInBeside(page: Page, name: string): Promise<Page> {
  const other = await page.context().newPage();
  await other.goto(web().url);
  const token = await web().addUser(name);
  const status = await other.evaluate(async (given) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ token: given });
    return (await fetch('/api/session', { method: 'POST', headers, body })).status;
  }, token);
  expect(status).toBe(200);
  return other;
}

test('a tab decides nothing in the name of somebody who signed in in another tab', async () => {
  const handle = await start('two people');
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await signInBeside(page, 'dora');
  const ended = page.getByText('Your session has ended: dora has signed in in this browser.');
  // The tab may have heard of it before: then there is nothing to press any more.
  await Promise.any([approve(page).click(), ended.waitFor()]);
  await ended.waitFor();
  const view = await web().client.view(handle.workflowId);
  expect(view.calls).toMatchObject([{ phase: 'request', decisions: [] }]);
  await handle.terminate();
});

test('a stream of a tab does not go on as that of somebody who signed in in another tab', async () => {
  const handle = await start('two streams');
  const page = await web().tab();
  await signInBeside(page, 'emil');
  await page.goto(`${web().url}/#/turns/${handle.workflowId}`);
  await page.getByText('Your session has ended: emil has signed in in this browser.').waitFor();
  expect(await page.locator('article.turn').count()).toBe(0);
  await handle.terminate();
});

test('a conversation does not go on as that of somebody who signed in in another tab', async () => {
  const page = await web().tab();
  await signInBeside(page, 'fred');
  await page.goto(`${web().url}/#/conversations/of-nobody`);
  await page.getByText('Your session has ended: fred has signed in in this browser.').waitFor();
});

test('tabs of two people do not share what is new', async () => {
  const page = await web().tab();
  await page.getByText('live', { exact: true }).waitFor();
  const other = await signInBeside(page, 'gina');
  const own = other.waitForRequest(/\/api\/inbox\/events\b.*=gina$/);
  await other.reload();
  await own;
  await other.getByText('live', { exact: true }).waitFor();
});

test('a wrong token is refused in words, and no secret stays in the address', async () => {
  const page = await web().tab();
  expect(page.url()).not.toContain('code');
  await signOut(page);
  await signIn(page, 'wrong');
  await until('words', async () => (await page.getByRole('alert').innerText()).length > 5);
  expect(await page.getByLabel('Token').inputValue()).toBe('');
});

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}
