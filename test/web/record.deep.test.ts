import type { Page } from 'playwright-core';
import { waitForEnd } from '../../src/testing';
import { recordTool } from '../support/effects';
import { decide } from '../support/turns';
import { contrastsIn, unnamedIn } from './accessible';
import { expectNoComplaints, usePage } from './page-fixture';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';

const AGENT = 'page-record';
const { effects, web, start } = usePage(AGENT, (written) => [
  recordTool(written, { name: 'page_look' }),
  recordTool(written, { name: 'page_pay', safety: 'dangerous' }),
]);
expectNoComplaints(web);

/** A turn that looked and paid: 1.1, then 2.1, which a person approved. */
const paid = async (tag: string): Promise<TurnHandle> => {
  const handle = await start(
    [
      { text: 'I look first.', toolCalls: [{ name: 'page_look', arguments: { tag } }] },
      { text: 'Now I pay.', toolCalls: [{ name: 'page_pay', arguments: { tag, amount: 50 } }] },
    ],
    '2.1',
  );
  await decide(handle, { callId: '2.1', decision: 'approved', approver: 'ann' });
  await waitForEnd(web().client, handle.workflowId);
  return handle;
};

const payments = async (tag: string): Promise<string[]> =>
  (await effects.lines(tag)).filter((line) => line.startsWith('page_pay'));

const slider = (page: Page) => page.getByRole('slider', { name: 'Event' });

/** Goes on by the keyboard until the slider says so. */
const scrubTo = async (page: Page, words: RegExp): Promise<void> => {
  await slider(page).focus();
  await page.keyboard.press('Home');
  for (let presses = 0; presses < 60; presses++) {
    if (words.test((await slider(page).getAttribute('aria-valuetext')) ?? '')) return;
    await page.keyboard.press('ArrowRight');
  }
  throw new Error(`no event says ${words.source}`);
};

test('a turn is gone through by the keyboard, and shows what was open and what the model knew', async () => {
  const handle = await paid('scrubbed');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.getByRole('heading', { name: 'Answer' }).waitFor();
  await scrubTo(page, /2\.1: waits for a decision: page_pay/);
  const moment = page.locator('.moment-view');
  await moment.getByText('waits for a decision').waitFor();
  const known = moment.locator('.message');
  expect(await known.allInnerTexts()).toMatchObject([
    expect.stringContaining('follow '),
    expect.stringContaining('I look first.'),
    expect.stringContaining('page_look did scrubbed'),
    expect.stringContaining('Now I pay.'),
  ]);
  expect(await page.getByRole('heading', { name: 'Answer' }).count()).toBe(0);
  expect(await moment.getByRole('button').count()).toBe(0);
  expect(await page.locator('.cursor').count()).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'One event back' }).click();
  await page.getByRole('button', { name: 'One event on' }).click();
  await moment.getByText('waits for a decision').waitFor();
  await page.keyboard.press('Shift+Tab');
  await slider(page).focus();
  await page.keyboard.press('Home');
  await moment.getByText('Nothing: it had not been asked.').waitFor();
  await page.getByRole('button', { name: 'Now' }).click();
  await page.getByRole('heading', { name: 'Answer' }).waitFor();
  expect(await page.locator('.cursor').count()).toBe(0);
});

test('what was approved is denied in a fork: nothing runs, and both paths stand side by side', async () => {
  const handle = await paid('forked page');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.locator('#step-2').getByRole('button', { name: 'What if …' }).click();
  const dialog = page.getByRole('dialog');
  expect(await unnamedIn(page)).toEqual([]);
  await dialog.getByLabel('it had been denied').check();
  await dialog.getByLabel('Reason').fill('too much');
  await dialog.getByRole('button', { name: 'Fork without effects' }).click();
  const paths = page.locator('.two-paths');
  await paths.getByText('the same in both').first().waitFor({ state: 'detached' });
  await paths.getByText('denied', { exact: true }).waitFor();
  expect(await paths.innerText()).toContain('Two paths from 2.1 on');
  expect(await paths.getByRole('link').getAttribute('href')).toBe(`#/turns/${handle.workflowId}`);
  await until('the end of the fork', async () => (await paths.getByText('answered').count()) === 2);
  expect(await payments('forked page')).toEqual(['page_pay forked page']);
  expect(page.url()).not.toContain(handle.workflowId);
});

test('with other arguments it says what would run, and what does not fit is corrected first', async () => {
  const handle = await paid('other args');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.locator('#step-2').getByRole('button', { name: 'What if …' }).click();
  const dialog = page.getByRole('dialog');
  const start = dialog.getByRole('button', { name: 'Fork without effects' });
  await dialog.getByLabel('amount').fill('5000');
  await dialog.getByText('The arguments have to be corrected first.').waitFor();
  expect(await start.isDisabled()).toBe(true);
  await dialog.getByLabel('amount').fill('7');
  await start.click();
  await page.locator('.two-paths').getByText('would ask a person, then run').waitFor();
  await page.locator('.two-paths').getByText('amount=7').waitFor();
  expect(await payments('other args')).toEqual(['page_pay other args']);
});

test('what cannot be forked says why, and keeps what was typed', async () => {
  const handle = await paid('refused page');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.locator('#step-1').getByRole('button', { name: 'What if …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('the model had answered instead').check();
  await dialog.getByLabel("The model's answer").fill('Nothing to do.');
  await dialog.getByLabel('Model from here on').fill('no such model');
  await page.route('**/forks', (route) => route.abort());
  await dialog.getByRole('button', { name: 'Fork without effects' }).click();
  await dialog.getByText('The web inbox does not answer.').waitFor();
  expect(await dialog.getByLabel("The model's answer").inputValue()).toBe('Nothing to do.');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});

test('stats show how each tool did, and what this web inbox refused', async () => {
  const handle = await paid('counted page');
  await until('visibility', async () =>
    (await web().client.list({ agent: AGENT, limit: 500 })).some(
      ({ turn, state }) => turn === handle.workflowId && state === 'answered',
    ),
  );
  const late = { callId: '2.1', decision: 'denied', seenDigest: '0'.repeat(64), callKey: 'old' };
  const refused = await fetch(`${web().url}/api/turns/${handle.workflowId}/decisions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await web().addUser('late')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(late),
  });
  expect(refused.status).toBe(409);
  const page = await web().tab('#/stats');
  await page.getByLabel('Agent', { exact: true }).fill(AGENT);
  await page.keyboard.press('Enter');
  const calls = page.getByRole('region', { name: 'Calls by tool' });
  await calls
    .locator('li', { hasText: 'page_pay' })
    .getByText(/succeeded/)
    .waitFor();
  await page
    .getByRole('region', { name: 'Decisions' })
    .getByText(/approved/)
    .first()
    .waitFor();
  await page.getByRole('region', { name: 'How long calls run' }).getByText(/p95/).first().waitFor();
  await page
    .getByRole('region', { name: /^Refused/ })
    .getByText('1 refused')
    .waitFor();
  await page.getByLabel('Tool', { exact: true }).selectOption('page_look');
  await until(
    'one tool',
    async () => (await calls.locator('.stat-name').allInnerTexts()).join() === 'page_look',
  );
  await page.getByLabel('Agent', { exact: true }).fill('nobody at all');
  await page.keyboard.press('Enter');
  await page.getByText('No turn fits.').waitFor();
  expect(await unnamedIn(page)).toEqual([]);
});

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.each([390, 1440])(
    'at %d pixels the past can be read, without scrolling to the side',
    async (width) => {
      const handle = await paid('looks');
      const { turn } = await web().client.fork({
        ...{ turn: handle.workflowId, at: '2.1' },
        change: { what: 'decision', decision: 'denied', approver: 'ann', reason: 'x'.repeat(300) },
      });
      await waitForEnd(web().client, turn);
      const page = await web().tab('#/stats', { colorScheme, viewport: { width, height: 844 } });
      // The stats are of all turns that other tests left on the server.
      await page.locator('.stat-rows').first().waitFor({ timeout: 90_000 });
      await isReadable(page);
      await page.goto(`${web().url}/#/turns/${turn}`);
      await page.locator('.path').first().waitFor();
      await isReadable(page);
      await page.goto(`${web().url}/#/turns/${handle.workflowId}`);
      await page.locator('#step-2').waitFor();
      await scrubTo(page, /waits for a decision/);
      await isReadable(page);
      await page.getByRole('button', { name: 'Now' }).click();
      await page.locator('#step-2').getByRole('button', { name: 'What if …' }).click();
      await isReadable(page);
      await page.context().close();
    },
    150_000,
  );
});

const isReadable = async (page: Page): Promise<void> => {
  expect(await contrastsIn(page, 4.5)).toEqual([]);
  expect(
    await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
  ).toBeLessThanOrEqual(0);
  expect(
    await page.evaluate<string[]>(`
      [...document.querySelectorAll('main, dialog[open]')]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
        .map(({ className }) => className)
    `),
  ).toEqual([]);
};
