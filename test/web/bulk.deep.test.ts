import type { Page } from 'playwright-core';
import { recordTool } from '../support/effects';
import type { TurnHandle } from '../support/fixture';
import { decide, newPlan, seenOf } from '../support/turns';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, listOnly, lookAtAll, signOut } from './web-inbox';

const AGENT = 'bulk';
/** Long enough to undo on a busy machine, and short enough to wait for. Milliseconds. */
const UNDO_MS = 8_000;

const preview = ({ tag, amount }: { tag?: unknown; amount?: unknown }): string =>
  `pays ${String(amount)} for ${String(tag)}`;
const { effects, web, start, fixture } = usePage(
  AGENT,
  (written) => [
    recordTool(written, { name: 'pay', safety: 'dangerous', preview }),
    recordTool(written, { name: 'wipe', safety: 'dangerous', noBatch: true }),
  ],
  UNDO_MS,
);
expectNoComplaints(web);

const ask = (name: string, args: { tag: string; amount?: number; to?: string }): Promise<TurnHandle> =>
  start([{ text: 'I do it.', toolCalls: [{ name, arguments: { ...args } }] }]);
const askAll = (tags: readonly string[]): Promise<TurnHandle[]> =>
  Promise.all(tags.map((tag, at) => ask('pay', { tag, amount: at + 1, to: 'ann' })));

const box = (page: Page, tag: string) =>
  page.locator('.rows').getByRole('checkbox', { name: new RegExp(`^Select .*${tag}$`) });
const approve = (page: Page) => page.locator('#approve');
const report = (page: Page) => page.getByRole('log', { name: 'Report' });
const waiting = (page: Page) => page.locator('.notices').getByText(/^Not sent yet/);
const openList = async (): Promise<Page> => {
  const page = await web().tab();
  await listOnly(page, AGENT);
  return page;
};
const select = async (page: Page, ...tags: readonly string[]): Promise<void> => {
  for (const tag of tags) await box(page, tag).check();
};
const isOpen = async ({ workflowId }: TurnHandle): Promise<boolean> =>
  (await web().client.view(workflowId)).calls[0]?.phase === 'request';
/** What is decided now comes after everything that could have been sent before. */
const decideAnother = async (tag: string): Promise<void> => {
  const other = await ask('pay', { tag, amount: 1 });
  const page = await web().tab(callPlace(other.workflowId));
  await lookAtAll(page);
  await approve(page).click();
  await until('the other one to run', async () => (await effects.lines(tag)).length > 0);
  await page.context().close();
};

test('several alike are seen by what differs and approved one by one; one that changed refuses', async () => {
  const handles = await askAll(['yes-1', 'yes-2', 'yes-3']);
  const wipe = await ask('wipe', { tag: 'wipe-1' });
  const page = await openList();
  await box(page, 'yes-1').check();
  expect(await box(page, 'tag=wipe-1').isDisabled()).toBe(true);
  await select(page, 'yes-2', 'yes-3');
  const table = page.getByRole('region', { name: 'Differences' });
  await until('three rows', async () => (await table.locator('tbody tr').count()) === 3);
  expect(await table.locator('thead th').allInnerTexts()).toEqual(['Call', 'What it does', 'tag', 'amount']);
  expect(await page.getByRole('region', { name: 'The same in all' }).innerText()).toContain('ann');
  const [changed] = handles;
  if (changed === undefined) throw new Error('no turn');
  const seen = await seenOf(changed);
  const args = { tag: 'yes-1', amount: 900, to: 'ann' };
  await decide(changed, {
    ...seen,
    ...{ callId: '1.1', decision: 'modified', approver: 'bob', arguments: args },
  });
  await newPlan(changed, seen);
  await lookAtAll(page);
  await page.getByLabel('Reason').fill('all of them');
  await approve(page).dblclick();
  await waiting(page).waitFor();
  expect(await effects.lines('yes-')).toEqual([]);
  await page.getByText('2 taken, 1 refused').first().waitFor();
  expect(
    await report(page)
      .getByText(/stale_args/)
      .count(),
  ).toBe(1);
  await until('two effects', async () => (await effects.lines('yes-')).length === 2);
  expect((await effects.lines('yes-')).sort()).toEqual(['pay yes-2', 'pay yes-3']);
  const { calls } = await web().client.view(handles[1]?.workflowId ?? '');
  expect(calls[0]?.decisions).toMatchObject([
    { decision: 'approved', approver: 'owner', reason: 'all of them' },
  ]);
  expect(await isOpen(changed)).toBe(true);
  await page.getByRole('button', { name: 'Close the report' }).click();
  await report(page).waitFor({ state: 'detached' });
  await Promise.all([changed, wipe].map((handle) => handle.terminate()));
});

test('all alike are denied with one reason, by the keyboard', async () => {
  const handles = await askAll(['no-1', 'no-2']);
  const page = await openList();
  // What the test before ended leaves the list a moment later.
  await until('only these rows', async () => {
    const texts = await page.locator('.row a').allInnerTexts();
    return texts.length === 2 && texts.every((text) => text.includes('for no-'));
  });
  await page.getByRole('searchbox').fill('no-1');
  await until('one row', async () => (await page.locator('.row a').count()) === 1);
  await page.keyboard.press('Escape');
  await until('both rows', async () => (await page.locator('.row a').count()) === 2);
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('j');
  await page.locator('.row a[aria-current]').first().waitFor();
  await page.keyboard.press('x');
  await page.getByRole('button', { name: 'All 2 of pay' }).click();
  await page.getByRole('button', { name: /^Deny 2/ }).waitFor();
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('d');
  await page.keyboard.type('too many');
  await page.keyboard.press('Control+Enter');
  await page.getByText('2 taken').first().waitFor();
  for (const handle of handles) expect((await handle.result()).answer).toContain('too many');
  expect(await effects.lines('no-')).toEqual([]);
});

test('a tool that wants each on its own is never decided with others', async () => {
  const handle = await ask('wipe', { tag: 'alone' });
  const page = await openList();
  await select(page, 'tag=alone');
  await page.getByRole('alert').getByText('its tool wants each one decided on its own').waitFor();
  expect(await approve(page).getAttribute('aria-disabled')).toBe('true');
  expect(await page.getByRole('button', { name: /^Deny 0/ }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Remove from the selection' }).click();
  await approve(page).waitFor({ state: 'detached' });
  expect(await isOpen(handle)).toBe(true);
  await handle.terminate();
});

test('undo sends nothing and leads back, for one and for several', async () => {
  const [one, ...several] = await askAll(['back-1', 'back-2', 'back-3']);
  if (one === undefined) throw new Error('no turn');
  const page = await openList();
  await page.goto(`${web().url}/${callPlace(one.workflowId)}`);
  await lookAtAll(page);
  await page.getByLabel('Reason').fill('kept');
  await approve(page).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await waiting(page).waitFor({ state: 'detached' });
  await page.waitForURL(`**/${callPlace(one.workflowId)}*`);
  await until('the reason', async () => (await page.getByLabel('Reason').inputValue()) === 'kept');
  await page.goto(`${web().url}/#/`);
  // The request goes away, the address of the list is set to what it showed, and only then its rows stay as they are.
  await approve(page).waitFor({ state: 'detached' });
  await page.waitForURL(/#\/\?.*agent=bulk/);
  await until('all rows', async () => (await page.locator('.row a').count()) === 3);
  await select(page, 'back-2', 'back-3');
  await lookAtAll(page);
  await approve(page).click();
  await waiting(page).waitFor();
  await page.keyboard.press('z');
  await waiting(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Approve 2/ }).waitFor();
  await decideAnother('after-undo');
  for (const handle of [one, ...several]) expect(await isOpen(handle)).toBe(true);
  expect(await effects.lines('back-')).toEqual([]);
  await Promise.all([one, ...several].map((handle) => handle.terminate()));
});

test('a decision is sent once when its time is over, from whatever screen', async () => {
  const handle = await ask('pay', { tag: 'away', amount: 1 });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await approve(page).click();
  await page.goto(`${web().url}/#/turns`);
  await page
    .locator('.notices')
    .getByText(/^Approved pay/)
    .waitFor();
  await until('it to run', async () => (await effects.lines('away')).length > 0);
  expect((await handle.result()).answer).toContain('pay did away');
  expect(await effects.lines('away')).toEqual(['pay away']);
});

test('closing the page within the time warns and sends nothing; signing out says so', async () => {
  const [closed, left] = await askAll(['closed', 'left']);
  if (closed === undefined || left === undefined) throw new Error('no turn');
  const [page, other] = await Promise.all([
    web().tab(callPlace(closed.workflowId)),
    web().tab(callPlace(left.workflowId)),
  ]);
  const isWarned = () =>
    page.evaluate<boolean>("!window.dispatchEvent(new Event('beforeunload', { cancelable: true }))");
  await lookAtAll(page);
  expect(await isWarned()).toBe(false);
  await approve(page).click();
  await waiting(page).waitFor();
  expect(await isWarned()).toBe(true);
  await page.context().close();
  await lookAtAll(other);
  await approve(other).click();
  await waiting(other).waitFor();
  await signOut(other);
  await other.getByRole('alert').getByText('Not sent, because you signed out: Approved').waitFor();
  await decideAnother('after-closing');
  expect(await Promise.all([closed, left].map(isOpen))).toEqual([true, true]);
  expect(await effects.lines('closed')).toEqual([]);
  await Promise.all([closed, left].map((handle) => handle.terminate()));
});

test('a connection that is lost within the time sends nothing, and the page says so', async () => {
  const handle = await ask('pay', { tag: 'lost', amount: 1 });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await approve(page).click();
  await waiting(page).waitFor();
  await web().stopServer();
  const notSent = page.getByText(/^Not sent, because the connection was lost: Approved/);
  await notSent.waitFor();
  // Another failure does not take its place.
  await page.goto(`${web().url}/#/turns`);
  await page.locator('.notice.bad').nth(1).waitFor();
  expect(await notSent.isVisible()).toBe(true);
  await web().startServer();
  expect(await isOpen(handle)).toBe(true);
  expect(await effects.lines('lost')).toEqual([]);
  await fixture().client.workflow.getHandle(handle.workflowId).terminate();
});
