import type { Page } from 'playwright-core';
import { recordTool } from '../support/effects';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, listOnly, lookAtAll } from './web-inbox';

const { effects, web, start } = usePage('late-keys', (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);
expectNoComplaints(web);

const ask = async (tag: string): Promise<string> =>
  (await start([{ toolCalls: [{ name: 'pay', arguments: { tag } }] }])).workflowId;
const focused = (page: Page): Promise<string> => page.evaluate<string>('document.activeElement.id');
const isOpen = async (turn: string): Promise<boolean> =>
  (await web().client.view(turn)).calls[0]?.phase === 'request';

test('words that were typed for a field that went away decide nothing and lead nowhere', async () => {
  const [first, second] = [await ask('typed for'), await ask('comes next')];
  const page = await web().tab();
  await listOnly(page, 'late-keys');
  await page.locator(`.row a[href*="${second}"]`).waitFor();
  await page.locator(`.row a[href*="${first}"]`).click();
  await lookAtAll(page);
  // The clock stands between the steps, however slow the machine is.
  let now = Date.now();
  const pass = (ms: number): Promise<void> => page.clock.setFixedTime((now += ms));
  await pass(0);
  await page.keyboard.press('d');
  await page.keyboard.type('no');
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(`**/turns/${second}/**`);
  await page.locator('.leaf', { hasText: 'comes next' }).waitFor();
  await pass(1_200);
  await page.locator('#approve[aria-disabled=false]').waitFor();
  const place = page.url();
  await page.keyboard.type('a wrong amount, taken again');
  expect(await focused(page)).not.toBe('approve');
  // Whoever types on is still typing.
  await pass(1_200);
  await page.keyboard.type('a ');
  await pass(1_200);
  await page.keyboard.type('a ');
  expect([await focused(page), page.url()]).toEqual(['', place]);
  await pass(2_100);
  await page.keyboard.press('a');
  expect(await focused(page)).toBe('approve');
  expect(await isOpen(second)).toBe(true);
  expect(await effects.lines()).toEqual([]);
  await page.context().close();
});

test('after the shortcut only Enter approves; a button that Tab reached takes the blank', async () => {
  const [first, second] = [await ask('by Enter'), await ask('by the blank')];
  const page = await web().tab(callPlace(first));
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled=false]').waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press(' ');
  expect(await focused(page)).toBe('approve');
  await page.keyboard.press('w');
  expect(await focused(page)).not.toBe('approve');
  await page.keyboard.press('Enter');
  expect(await isOpen(first)).toBe(true);
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  await until('it to run', async () => (await effects.lines('by Enter')).length === 1);
  await page.goto(`${web().url}/${callPlace(second)}`);
  await page.locator('.leaf', { hasText: 'by the blank' }).waitFor();
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled=false]').waitFor();
  await page.locator('.decision-bar .danger').focus();
  for (let n = 0; n < 3 && (await focused(page)) !== 'approve'; n++) await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('approve');
  await page.keyboard.press(' ');
  await until('it to run', async () => (await effects.lines('by the blank')).length === 1);
  await page.context().close();
});
