import type { Page } from 'playwright-core';
import { recordTool } from '../support/effects';
import { planTool } from '../support/plan-tool';
import { TransportError } from '../../src/tools/errors';
import { decide, waitFor } from '../support/turns';
import type { TurnHandle } from '../support/fixture';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, listOnly, lookAtAll, signOut } from './web-inbox';

const { web, start: startTurn } = usePage('typed', (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
  recordTool(written, { name: 'wire', safety: 'dangerous' }, () => {
    throw new TransportError('the line broke');
  }),
  planTool(written),
]);
expectNoComplaints(web);

const start = (tag: string): Promise<TurnHandle> =>
  startTurn([{ toolCalls: [{ name: 'pay', arguments: { tag, amount: 10 } }] }]);

const amount = (page: Page) => page.getByLabel('amount', { exact: true });
const reason = (page: Page) => page.getByLabel('Reason');

/** Opens a call and types half of a decision. */
const type = async (handle: TurnHandle): Promise<Page> => {
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  await amount(page).fill('12,5');
  await page.getByLabel('tag', { exact: true }).fill('other');
  await reason(page).fill('half a reason');
  return page;
};

const expectKept = async (page: Page): Promise<void> => {
  await amount(page).waitFor();
  expect(await amount(page).inputValue()).toBe('12,5');
  expect(await page.getByLabel('tag', { exact: true }).inputValue()).toBe('other');
  expect(await reason(page).inputValue()).toBe('half a reason');
};

test('a reload keeps what was typed', async () => {
  const page = await type(await start('reload'));
  await page.reload();
  await expectKept(page);
});

test('another row, the turn and the stats keep what was typed', async () => {
  const handle = await start('rows');
  await start('other row');
  const page = await type(handle);
  await listOnly(page, 'typed');
  await page.locator('.row', { hasText: 'tag=other row' }).first().click();
  await page.locator('.leaf', { hasText: 'other row' }).waitFor();
  expect(await reason(page).inputValue()).toBe('');
  await page.goBack();
  await expectKept(page);
  for (const [key, place] of [
    ['u', '.picture-row'],
    ['s', '.at-stats h1'],
  ] as const) {
    await page.evaluate('document.activeElement?.blur()');
    await page.keyboard.press(key);
    await page.locator(place).first().waitFor();
    await page.goBack();
    await expectKept(page);
  }
});

test('ticked hunks are kept', async () => {
  const handle = await startTurn([
    { toolCalls: [{ name: 'propose_lines', arguments: { tag: 'kept hunks', lines: ['one', 'two'] } }] },
  ]);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('checkbox', { name: 'Hunk 2' }).uncheck();
  await page.reload();
  await page.getByRole('checkbox', { name: 'Hunk 2', checked: false }).waitFor();
  expect(await page.getByRole('checkbox', { name: 'Hunk 1' }).isChecked()).toBe(true);
});

test('when somebody else decides, what was typed stays in sight with a word of what happened', async () => {
  const handle = await start('taken');
  const page = await type(handle);
  await decide(handle, { callId: '1.1', decision: 'denied', approver: 'bob', reason: 'no' });
  const left = page.getByRole('region', { name: 'What you had typed' });
  await left.getByText(/denied by bob at .*This is what you had typed:/).waitFor();
  await left.getByText('half a reason').waitFor();
  await left.getByText('12,5').waitFor();
  expect(await left.locator('ins').allInnerTexts()).toEqual(['other']);
  await page.reload();
  await left.getByText('half a reason').waitFor();
  await left.getByRole('button', { name: 'Drop it' }).click();
  await left.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByText('denied', { exact: true }).first().waitFor();
  expect(await left.count()).toBe(0);
});

test('when the request changes, what was typed for the old one stays beside it', async () => {
  const handle = await startTurn([
    { toolCalls: [{ name: 'propose_lines', arguments: { tag: 'changed', lines: ['one', 'two'] } }] },
  ]);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  await page.getByLabel('2', { exact: true }).fill('mine');
  const edited = { tag: 'changed', lines: ['one', 'theirs'] };
  await decide(handle, { callId: '1.1', decision: 'modified', arguments: edited, approver: 'bob' });
  await page.getByRole('region', { name: 'What it does' }).getByText('theirs').first().waitFor();
  const left = page.getByRole('region', { name: 'What you had typed' });
  await left.getByText('It changed after you typed this.').waitFor();
  await left.locator('ins', { hasText: 'mine' }).waitFor();
});

test('how one knows of a call in doubt is kept, apart from the reason for a decision', async () => {
  const handle = await startTurn([{ toolCalls: [{ name: 'wire', arguments: { tag: 'doubt' } }] }]);
  const page = await web().tab(callPlace(handle.workflowId));
  await reason(page).fill('for the decision');
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'bob' });
  await waitFor(handle, '1.1', 'in_doubt');
  const left = page.getByRole('region', { name: 'What you had typed' });
  await left.getByText('for the decision').waitFor();
  await page.getByRole('radio', { name: /^It happened/ }).check();
  expect(await page.getByLabel('How you know').inputValue()).toBe('');
  await page.getByLabel('What it returned').fill('receipt 7');
  await page.reload();
  expect(await page.getByLabel('What it returned').inputValue()).toBe('receipt 7');
  await handle.terminate();
});

test('what was sent is forgotten', async () => {
  const handle = await start('sent');
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await reason(page).fill('fine');
  await page.locator('#approve').click();
  await page.locator('.notices').getByText('Approved pay ').waitFor();
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await page.getByRole('heading', { name: 'pay' }).waitFor();
  expect(await page.getByRole('region', { name: 'What you had typed' }).count()).toBe(0);
  const kept = await page.evaluate<number>('Object.keys(sessionStorage).length');
  expect(kept).toBe(0);
});

test('signing out forgets all of it, and nothing is stored beyond the tab', async () => {
  const handle = await start('signed out');
  const page = await type(handle);
  expect(await page.evaluate<string>('JSON.stringify(localStorage)')).not.toContain('half a reason');
  await signOut(page);
  await page.getByLabel('Token').waitFor();
  expect(await page.evaluate<number>('Object.keys(sessionStorage).length')).toBe(0);
});
