import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { connect, type Countersign } from '../../src/client';
import type { JsonObject } from '../../src/contract/json';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { until } from '../support/until';
import { waitFor } from '../support/turns';
import { unnamedIn } from './accessible';
import { useTabs } from './page-fixture';
import { callPlace, confirm, lookAtAll, openWebInbox, VIEWER, type WebInbox, signOut } from './web-inbox';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let web: WebInbox;

const FILE = `installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { owner: {}, ben: {} }
rules:
  - { name: two, tools: [refund], then: ask, approvers: { any: [owner, ben], need: 2 } }
  - { name: own key, tools: [wire], then: ask, assurance: signed }
  - { name: default, then: by_safety }
`;

const ofTest = useTabs();

/** Grants are of a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  const file = join(fixture.directory, 'approvers.yaml');
  await writeFile(file, FILE);
  const tools = [
    ...['pay', 'wire', 'refund'].map((name) => recordTool(effects, { name, safety: 'dangerous' })),
    recordTool(effects, { name: 'once', safety: 'dangerous', noGrant: true }),
  ];
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [clerk], approvers: file });
  client = await connect({ client: fixture.client });
  web = await openWebInbox(fixture.address);
});
afterAll(() => web.stop());
afterEach(async () => {
  for (const { id } of (await client.grants.list()).grants) await client.grants.revoke({ id, by: 'owner' });
  expect(web.complaints).toEqual([]);
});

async function start(name: string, args: JsonObject): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: args }] }, { text: 'done' });
  return (await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue })).turn;
}

async function asked(name: string, args: JsonObject): Promise<string> {
  const turn = await start(name, args);
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

async function tab(place?: string): Promise<Page> {
  const page = ofTest(await web.tab(place));
  page.setDefaultTimeout(15_000);
  return page;
}

const OFFER = 'Approve and allow more …';
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Approve and allow more' });
const give = (page: Page) => dialog(page).getByRole('button', { name: 'Approve and allow' });

/** Goes to something with the Tab key alone. */
async function tabTo(page: Page, selector: string): Promise<void> {
  await until(selector, async () => {
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) return true;
    await page.keyboard.press('Tab');
    return false;
  });
}

test('a call is approved and more are allowed, by the keyboard alone, and taken back', async () => {
  const turn = await asked('pay', { tag: 'key-1', amount: 50 });
  const page = await tab(callPlace(turn));
  await lookAtAll(page, 'key');
  await tabTo(page, '.grant-offer button');
  await page.keyboard.press('Enter');
  await dialog(page)
    .getByText(/exactly these arguments .*: up to 3 calls, until/)
    .waitFor();
  await dialog(page).getByText('it would have allowed 1').waitFor();
  expect(await unnamedIn(page)).toEqual([]);
  // It closes as every dialog does, and the focus is where it was.
  await page.keyboard.press('Escape');
  expect(await page.evaluate('document.activeElement?.textContent')).toBe(OFFER);
  expect((await client.grants.list()).grants).toEqual([]);
  await page.keyboard.press('Enter');
  await tabTo(page, '#grant-span');
  await page.keyboard.press('ArrowDown');
  await tabTo(page, '#grant-amount');
  await page.keyboard.press('ArrowDown');
  await tabTo(page, '#grant-tag');
  await page.keyboard.press('ArrowDown');
  await dialog(page)
    .getByText(/amount from 0 to 50.*every call \(500 at most\)/)
    .waitFor();
  await dialog(page)
    .getByText(/tag any text/)
    .first()
    .waitFor();
  await tabTo(page, 'dialog [type=submit]');
  await page.keyboard.press('Enter');
  await page.getByText(/Approved, and allowed more calls of pay/).waitFor();
  await fixture.client.workflow.getHandle(turn).result();
  await until('the grant', async () => (await client.grants.list()).grants.length === 1);
  const next = await start('pay', { tag: 'key-2', amount: 7 });
  await fixture.client.workflow.getHandle(next).result();
  expect(await effects.lines('key-2')).toEqual(['pay key-2']);

  await page.goto(`${web.url}/#/grants`);
  await page.getByText(/499 of 500 uses left · ends in \d+ min.*given by owner, claimed/).waitFor();
  await tabTo(page, '.of-grants button');
  await confirm(
    page,
    () => page.locator('.of-grants button').dblclick(),
    async () => {
      expect((await client.grants.list()).grants).toHaveLength(1);
      await page.keyboard.press('Enter');
    },
  );
  await page.getByText('There are none.').waitFor();
  expect((await client.grants.list()).grants).toEqual([]);
  await asked('pay', { tag: 'key-3', amount: 7 });
});

test('what waits and now fits a grant is offered together, and what ran by a grant says so', async () => {
  const waits = await asked('pay', { tag: 'fits', amount: 9 });
  const turn = await asked('pay', { tag: 'fits', amount: 50 });
  const page = await tab(callPlace(turn));
  await lookAtAll(page);
  await page.getByRole('button', { name: OFFER }).click();
  await page.locator('#grant-amount').selectOption({ label: 'from 0 to 50' });
  await dialog(page)
    .getByText(/amount from 0 to 50.*up to 3 calls/)
    .waitFor();
  await page.clock.install();
  await give(page).click();
  const fit = page.locator('.notices').getByText('One that waits now fits the grant');
  await fit.waitFor();
  // It is about other requests, so it stays until somebody has read it.
  await page.clock.fastForward(60_000);
  await page.getByRole('link', { name: 'Look at them' }).click();
  await page.locator('.differences, .call').getByText('fits').first().waitFor();
  const next = await start('pay', { tag: 'fits', amount: 7 });
  await fixture.client.workflow.getHandle(next).result();
  await page.goto(`${web.url}/${callPlace(next)}`);
  await page.getByText(/^Ran by .*use 1 of 3 of the grant .* of owner/).waitFor();
  await fixture.client.workflow.getHandle(waits).terminate();
});

test('a grant of somebody else is confirmed by the keyboard alone, and allows calls only then', async () => {
  const turn = await asked('refund', { tag: 'two-1' });
  const { authority, terms } = await client.grants.plan(turn, '1.1', { by: 'ben', times: 3 });
  const { id } = await client.grants.give({ ...terms, ...(authority && { authority }) });
  await asked('refund', { tag: 'two-1' });
  const page = await tab('#/grants');
  await page.getByText('Until it is confirmed it allows nothing').waitFor();
  await page.getByText(/3 of 3 uses left .* given by ben, claimed/).waitFor();
  expect(await unnamedIn(page)).toEqual([]);
  const ask = page.getByRole('button', { name: /^Confirm …/ });
  await tabTo(page, '.of-grants button');
  await page.keyboard.press('Enter');
  await page.getByText('You confirm: Allows clerk to run refund with exactly these arguments').waitFor();
  // Whoever goes on confirms nothing.
  await page.keyboard.press('Tab');
  await ask.waitFor();
  await page.keyboard.press('Shift+Tab');
  await confirm(page, () => page.keyboard.press('Enter'));
  await page.getByText('confirmed by owner, claimed').waitFor();
  await ask.waitFor({ state: 'detached' });
  expect(await page.evaluate('document.activeElement?.id')).toBe('grants-title');
  const next = await start('refund', { tag: 'two-1' });
  await fixture.client.workflow.getHandle(next).result();
  expect(await effects.lines('two-1')).toEqual(['refund two-1']);
  expect((await client.grants.list()).grants).toMatchObject([
    { id, used: 1, confirmed: [{ voter: 'owner' }] },
  ]);
});

test('where the approval was taken and the grant was not, the page says which', async () => {
  const turn = await asked('pay', { tag: 'half' });
  const page = await tab(callPlace(turn));
  await lookAtAll(page);
  await page.route('**/api/turns/*/grants', async (route) => {
    const response = await route.fetch();
    const { grant, ...answer } = await response.json();
    const grantProblem = { code: 'full', message: 'there are 200 grants already' };
    await client.grants.revoke({ id: grant.id, by: 'owner' });
    await route.fulfill({ response, json: { ...answer, grantProblem } });
  });
  await page.getByRole('button', { name: OFFER }).click();
  await give(page).and(page.locator('[aria-disabled=false]')).click();
  const notices = page.locator('.notices');
  await notices.getByText('Nothing more is allowed: there are 200 grants already').waitFor();
  await notices.getByText('Approved this call of pay alone.').waitFor();
  expect(await notices.getByText('and allowed more calls').count()).toBe(0);
  await fixture.client.workflow.getHandle(turn).result();
});

test('what has to be signed at a terminal cannot be allowed in the page, which says so', async () => {
  const page = await tab(callPlace(await asked('wire', { tag: 'signed' })));
  await page.locator('main').getByText('its rule wants decisions signed').first().waitFor();
  expect(await page.getByRole('button', { name: OFFER }).count()).toBe(0);
});

test('a call that changed under the dialog gives nothing', async () => {
  const turn = await asked('pay', { tag: 'late' });
  const page = await tab(callPlace(turn));
  await lookAtAll(page);
  await page.getByRole('button', { name: OFFER }).click();
  await dialog(page)
    .getByText(/^Allows/)
    .waitFor();
  const { callKey, seenDigest } = (await client.view(turn)).calls[0]?.request ?? {};
  const denied = await client.decide(turn, {
    ...{ callId: '1.1', callKey: callKey ?? '', seenDigest: seenDigest ?? '' },
    ...{ decisionId: 'x', decision: 'denied', approver: 'owner' },
  });
  expect(denied.status).toBe('accepted');
  await until('it to be gone, or refused', async () => {
    if (await give(page).isVisible())
      await give(page)
        .click({ timeout: 1_000 })
        .catch(() => undefined);
    return !(await dialog(page).isVisible());
  });
  expect((await client.grants.list()).grants).toEqual([]);
});

test('nothing is offered for a tool that has no grants', async () => {
  const page = await tab(callPlace(await asked('once', { tag: 'once' })));
  await lookAtAll(page);
  expect(await page.getByRole('button', { name: OFFER }).count()).toBe(0);
});

test('a viewer sees what there is, and gives and revokes nothing', async () => {
  const turn = await asked('pay', { tag: 'viewer' });
  const { terms } = await client.grants.plan(turn, '1.1', { by: 'owner', times: 3 });
  const { id } = await client.grants.give(terms);
  const token = await web.addUser(VIEWER);
  const page = await tab();
  await signOut(page);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByText('You may only look').waitFor();
  await page.goto(`${web.url}/#/grants`);
  await page.getByText(/3 of 3 uses left/).waitFor();
  expect(await page.getByRole('button', { name: /Revoke/ }).count()).toBe(0);
  await page.goto(`${web.url}/${callPlace(turn)}`);
  await page.getByRole('article', { name: 'Request 1.1' }).waitFor();
  expect(await page.getByRole('button', { name: OFFER }).count()).toBe(0);
  await client.grants.revoke({ id, by: 'owner' });
});
