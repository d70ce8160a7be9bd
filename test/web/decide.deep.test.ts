import type { Page } from 'playwright-core';
import { z } from 'zod';
import { ToolError } from '../../src/tools/errors';
import { defineTool } from '../../src/tools/define-tool';
import type { Tool } from '../../src/tools/types';
import { recordTool, type Effects } from '../support/effects';
import { planTool } from '../support/plan-tool';
import { decide, seenOf } from '../support/turns';
import { callPlace, confirm, doubleClick, listOnly, lookAtAll, signOut, VIEWER } from './web-inbox';
import { expectNoComplaints, usePage } from './page-fixture';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';

const refundTool = (written: Effects): Tool =>
  defineTool({
    name: 'refund_order',
    description: 'Pays an order back.',
    safety: 'dangerous',
    parameters: z.object({
      order: z.string(),
      amount: z.number().max(500).describe('At most 500.'),
      currency: z.enum(['EUR', 'USD']),
      notify: z.boolean().optional(),
      lines: z.array(z.object({ sku: z.string(), count: z.int().min(1) })),
    }),
    preview: ({ order, amount, currency }) => `refund ${amount} ${currency} of order ${order}`,
    handler: async (args) => {
      await written.add(`refund ${JSON.stringify(args)}`);
      return 'paid back';
    },
  });

const {
  effects,
  web,
  start: startTurn,
  fixture: fixture,
} = usePage('decider', (written) => [
  refundTool(written),
  planTool(written),
  recordTool(written, { name: 'book', safety: 'dangerous', parameters: { type: 'object' } }),
  recordTool(written, { name: 'break_down', safety: 'dangerous' }, () => {
    throw new ToolError('the file had changed');
  }),
  recordTool(written, { name: 'stay', safety: 'dangerous' }, (_, { signal }) => {
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'), { once: true }));
  }),
]);
expectNoComplaints(web);

const REFUND = { order: '4711', amount: 129.9, currency: 'EUR', lines: [{ sku: 'LMP', count: 1 }] };

const start = (name: string, args: object): Promise<TurnHandle> =>
  startTurn([{ text: 'I pay it back.', toolCalls: [{ name, arguments: JSON.parse(JSON.stringify(args)) }] }]);

const approve = (page: Page) => page.locator('#approve');
/** Changed arguments have a new preview, which the person looks at and approves. */
const approveNew = async (page: Page, preview: string): Promise<void> => {
  await page
    .getByRole('region', { name: /^What it does with the changes/ })
    .getByText(preview)
    .waitFor();
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled="false"]').click();
};
const notices = (page: Page) => page.locator('.notices');
const ran = (what: string) =>
  until(what, async () => (await effects.lines()).find((line) => line.startsWith(what)));

test('a request is shown whole and approved', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('heading', { name: 'refund_order' }).waitFor();
  // Who wants it, how long there is and who decides stand in one line; the rest is asked for.
  const line = page.locator('.call-head .crumbs');
  expect(await line.innerText()).toMatch(/^decider wants it\s+in 7 days\s+you decide$/);
  expect(await page.getByText('started at most once').count()).toBe(0);
  await page.getByRole('button', { name: 'Details' }).click();
  const shown = await page.locator('.detail-pane').innerText();
  for (const part of ['unsafe', 'started at most once per decision', '30 s', 'The user asked'])
    expect(shown).toContain(part);
  for (const part of [
    'refund 129.9 EUR of order 4711',
    'lines.#1',
    'sku',
    'LMP',
    'The model says',
    'I pay it back.',
  ])
    expect(shown).toContain(part);
  await lookAtAll(page);
  await page.getByLabel('Reason').fill('fine');
  await approve(page).click();
  await notices(page).getByText('Approved refund 129.9 EUR of order 4711').waitFor();
  await ran('refund {"order":"4711","amount":129.9');
  const { calls } = await web().client.view(handle.workflowId);
  expect(calls[0]?.decisions).toMatchObject([{ decision: 'approved', approver: 'owner', reason: 'fine' }]);
});

test('arguments are changed in the form; mistakes stand at their field before anything is sent', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  const amount = page.getByLabel('amount', { exact: true });
  await amount.fill('900');
  await page.locator('#field\\/amount-issues').getByText('900 is greater than 500').waitFor();
  expect(await amount.getAttribute('aria-invalid')).toBe('true');
  expect(await approve(page).getAttribute('aria-disabled')).toBe('true');
  await amount.fill('12,5');
  await page.locator('#field\\/amount-issues li').first().waitFor();
  await amount.fill('12.50');
  await page.getByLabel('currency').selectOption('USD');
  await page.getByRole('button', { name: '+ notify' }).click();
  await page.getByLabel('notify', { exact: true }).check();
  await page.getByRole('button', { name: '+ another' }).click();
  await page.getByLabel('sku').nth(1).fill('BLB');
  await lookAtAll(page);
  const changes = page.getByRole('region', { name: 'Your changes' });
  expect(await changes.locator('del').allInnerTexts()).toEqual(['129.9', 'EUR']);
  expect(await changes.locator('ins').allInnerTexts()).toEqual(
    expect.arrayContaining(['12.5', 'USD', 'BLB', 'true']),
  );
  await page.getByRole('button', { name: /^See what it does now/ }).click();
  await notices(page).getByText('Changed refund_order order=').waitFor();
  const { calls } = await web().client.view(handle.workflowId);
  expect(calls[0]?.effective).toEqual({
    ...{ order: '4711', amount: 12.5, currency: 'USD', notify: true },
    lines: [...REFUND.lines, { sku: 'BLB', count: 1 }],
  });
});

test('what only the workflow can find wrong stands at its field after sending', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab();
  // A record without a schema, as of a worker of an older version: the page cannot check then.
  await page.route('**/api/turns/*/calls/*', async (route) => {
    const response = await route.fetch();
    const { schema: _, ...details } = await response.json();
    await route.fulfill({ response, json: details });
  });
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await page.getByRole('button', { name: /^Change/ }).click();
  await page.getByRole('button', { name: 'Form' }).click();
  await page.getByLabel('amount', { exact: true }).fill('900');
  await lookAtAll(page);
  await page.getByRole('button', { name: /^See what it does now/ }).click();
  await page.getByText(/Correct the marked fields\. \(validation\)/).waitFor();
  await page.locator('#field\\/amount-issues li').first().waitFor();
  expect(await approve(page).getAttribute('aria-disabled')).toBe('true');
  await page.getByLabel('amount', { exact: true }).fill('90');
  await page.getByRole('button', { name: /^See what it does now/ }).click();
  await approveNew(page, 'refund 90 EUR of order 4711');
  await ran('refund {"order":"4711","amount":90,');
  // The page still looks how the call ends.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('raw JSON beside the form', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  await page.getByRole('button', { name: 'JSON' }).click();
  const raw = page.getByLabel('Arguments as JSON');
  await raw.fill('{"order":');
  await page.getByText('is not JSON').waitFor();
  await raw.fill(JSON.stringify({ ...REFUND, amount: 'x' }));
  await page.locator('#raw-issues').getByText('/amount').waitFor();
  await raw.fill(JSON.stringify({ ...REFUND, amount: 7 }));
  await lookAtAll(page);
  await page.getByRole('button', { name: /^See what it does now/ }).click();
  await approveNew(page, 'refund 7 EUR of order 4711');
  await ran('refund {"order":"4711","amount":7,');
});

test('denying asks for a reason once, and the model reads it', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await page.getByRole('button', { name: /^Deny/ }).click();
  const reason = page.getByLabel('Reason');
  expect(await page.locator('#reason:focus').count()).toBe(1);
  await reason.fill('not this one');
  await page.getByRole('button', { name: /^Deny/ }).click();
  await notices(page).getByText('Denied refund 129.9 EUR of order 4711').waitFor();
  expect((await handle.result()).answer).toContain('not this one');
});

test('a denial says what to do instead, which nobody approves by mistake, and the model reads it', async () => {
  const handle = await start('refund_order', { ...REFUND, order: 'voucher' });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled="false"]').waitFor();
  await page.keyboard.press('i');
  await page.locator('#instead:focus').fill('send a voucher of 20 EUR');
  await page.getByText('This request closes. What the model then asks for is a new one.').waitFor();
  await page.getByText('You said what to do instead').waitFor();
  expect(await page.locator('#approve[aria-disabled="true"]').count()).toBe(1);
  await page.getByRole('button', { name: 'Deny and suggest' }).click();
  await notices(page).getByText('Denied refund 129.9 EUR of order voucher').waitFor();
  expect((await handle.result()).answer).toContain('send a voucher of 20 EUR');
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await page.locator('.outcome').getByText('wants this instead: send a voucher of 20 EUR').waitFor();
  expect(await effects.lines('voucher')).toEqual([]);
});

test.each(['call', 'turn'])('the page of a %s shows which hunks ran, with the diff', async (where) => {
  const handle = await start('propose_lines', { tag: `kept ${where}`, lines: ['one', 'two', 'three'] });
  const said = { callId: '1.1', decision: 'approved', approver: 'ann' } as const;
  const seen = await seenOf(handle, '1.1');
  expect(await decide(handle, { ...said, ...seen, hunks: ['1', '3'] })).toMatchObject({ accepted: true });
  await handle.result();
  const page = await web().tab(
    where === 'call' ? callPlace(handle.workflowId) : `#/turns/${handle.workflowId}`,
  );
  if (where === 'turn') await page.getByRole('button', { name: /1\.1\s+propose_lines/ }).click();
  await page.getByText('approved by ann (as claimed, update), hunks 1, 3').waitFor();
  const diff = page.getByRole('region', { name: 'What 1.1 does' });
  await diff.getByText('2 of 3 hunks approved').waitFor();
  expect(await diff.locator('.diff-count').innerText()).toBe('+2 −0');
  expect(await diff.locator('.hunk.left-out').allInnerTexts()).toEqual([expect.stringContaining('+two')]);
});

test('what goes wrong after an approval is brought back to the person, and stands in what they decided', async () => {
  const handle = await start('break_down', { tag: 'order 1012' });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await approve(page).click();
  await notices(page).getByText('Approved break_down tag=order 1012').waitFor();
  const news = notices(page).locator('.bad');
  await news.getByText('break_down tag=order 1012 ended as failed: the file had changed').waitFor();
  await page.goto(`${web().url}/#/decided`);
  await news.getByText('the file had changed').waitFor();
  const row = page.locator('.turn-list li', { hasText: 'break_down tag=order 1012' });
  await row.getByText('failed', { exact: true }).waitFor();
  expect(await row.innerText()).toMatch(/approved · \d{4}-\d\d-\d\d .* the file had changed/);
  await news.getByRole('button', { name: 'Close this notice' }).click();
  await news.waitFor({ state: 'detached' });
});

test('a refused decision is listed with who, which call, when and why', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await page.route('**/api/turns/*/calls/*', (route) => route.abort());
  await decide(handle, { callId: '1.1', decision: 'denied', approver: 'bob' });
  await approve(page).click();
  await page.getByText(/It is decided already/).waitFor();
  await page.goto(`${web().url}/#/stats`);
  await page.getByRole('link', { name: 'Refused decisions, one by one' }).click();
  const row = page.locator('.turn-list li', { hasText: handle.workflowId });
  await row.getByText('already decided').waitFor();
  expect(await row.innerText()).toMatch(/owner: It is decided already.*[^]*denied by bob, \d{4}-/);
});

test('without a hunk there is nothing to approve', async () => {
  const handle = await start('propose_lines', { tag: 'none', lines: ['one', 'two'] });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await page.keyboard.press('1');
  await page.keyboard.press('2');
  await page.getByText('No hunk is ticked: deny it instead.').waitFor();
  expect(await approve(page).getAttribute('aria-disabled')).toBe('true');
});

test('an edited proposal comes back with its new diff', async () => {
  const handle = await start('propose_lines', { tag: 'anew', lines: ['one', 'two'] });
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  await page.getByLabel('2', { exact: true }).fill('zwei');
  await page.getByText('This preview is out of date').waitFor();
  await lookAtAll(page);
  await page.getByRole('button', { name: /^See what it does now/ }).click();
  await page
    .getByRole('region', { name: /^What it does with the changes of owner/ })
    .getByText('+zwei')
    .waitFor();
  await page.getByRole('heading', { name: 'Against what the model asked for' }).waitFor();
  await lookAtAll(page);
  await approve(page).click();
  expect(await ran('propose_lines anew')).toBe('propose_lines anew +one+zwei');
});

test('an edit folds up what this person saw of the request and left as it was, and nothing for another', async () => {
  const lines = ['LMP', 'BLB', 'SKT'].map((sku) => ({ sku, count: 1 }));
  const handle = await start('refund_order', { ...REFUND, lines });
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  await page.getByRole('button', { name: /^Change/ }).click();
  await page.getByLabel('amount', { exact: true }).fill('12.5');
  await lookAtAll(page);
  await page.getByRole('button', { name: /^See what it does now/ }).click();
  const folded = page.getByText('1 part that you saw before and nobody changed');
  await folded.waitFor();
  const row = (tab: Page) => tab.locator('.rows-of').getByText('BLB');
  expect(await row(page).count()).toBe(0);
  await folded.click();
  await row(page).waitFor();
  const other = await web().tab(callPlace(handle.workflowId));
  await row(other).waitFor();
  expect(await other.getByText(/that you saw before/).count()).toBe(0);
  await approveNew(page, 'refund 12.5 EUR of order 4711');
});

/** Moves to the row with the text by j and k; a row that comes or goes in between moves the others. */
const goTo = (page: Page, text: string): Promise<true> =>
  until(`the row "${text}" to be the current one`, async () => {
    const rows = page.locator('.row');
    const shown = await rows.evaluateAll((all) =>
      all.map((row) => ({
        text: row.textContent ?? '',
        isCurrent: row.querySelector('a[aria-current]') !== null,
      })),
    );
    const to = shown.findIndex((row) => row.text.includes(text));
    const from = shown.findIndex((row) => row.isCurrent);
    if (to === from && to >= 0) return true;
    await page.keyboard.press(from < to ? 'j' : 'k');
    return false;
  });

test('with the keyboard alone: from the inbox to an approval, which no single key gives', async () => {
  const handle = await start('refund_order', { ...REFUND, order: 'keys' });
  const page = await web().tab();
  await listOnly(page, 'decider');
  await page.locator('.row', { hasText: 'order keys' }).waitFor();
  await goTo(page, 'order keys');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'refund_order' }).waitFor();
  await lookAtAll(page, 'key');
  for (const key of ['a', 'y']) await page.keyboard.press(key);
  expect(await page.locator('#approve:focus').count()).toBe(0);
  for (const key of ['a', 'a']) await page.keyboard.press(key);
  expect(await page.locator('#approve:focus').count()).toBe(1);
  expect((await web().client.view(handle.workflowId)).requests).toHaveLength(1);
  await page.keyboard.press('Enter');
  await notices(page).getByText('Approved refund 129.9 EUR of order keys').waitFor();
  await ran('refund {"order":"keys"');
});

test('denying with the keyboard, and help on a key', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('heading', { name: 'refund_order' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('deny, with a reason').waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('Escape');
  await page.keyboard.press('d');
  await page.keyboard.type('by key');
  await page.keyboard.press('Control+Enter');
  await notices(page).getByText('Denied refund 129.9 EUR of order 4711').waitFor();
  expect((await handle.result()).answer).toContain('by key');
});

test('a turn is drawn live, to its answer', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.getByRole('img', { name: /^waits for a person .* so far$/ }).waitFor();
  await page.getByText('waits for a person', { exact: true }).first().waitFor();
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await page.getByRole('img', { name: 'approved by ann' }).waitFor();
  await page.getByRole('region', { name: 'Answer' }).getByText('paid back').waitFor();
  await page.getByRole('button', { name: /1\.1\s+refund_order/ }).click();
  await page.getByText('approved by ann', { exact: false }).first().waitFor();
});

test('a turn whose workflow task fails says why', async () => {
  const handle = await start('stay', { tag: 'failing task' });
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await ran('stay failing task');
  // Temporal's core takes no result of two payloads.
  const two = [{ data: Buffer.from('1') }, { data: Buffer.from('2') }];
  await fixture().client.workflowService.respondActivityTaskCompletedById({
    ...{ namespace: 'default', workflowId: handle.workflowId, activityId: 'call-1.1-0' },
    result: { payloads: two },
  });
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  const now = page.getByRole('region', { name: 'Right now' });
  await now.getByText(/its workflow task fails \(attempt \d+\): .*Not exactly one payload/).waitFor();
  await handle.terminate();
});

test('a turn is cancelled after a second look', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.getByRole('button', { name: 'Cancel the turn' }).click();
  await page.getByRole('button', { name: 'Keep it' }).click();
  await confirm(
    page,
    () => page.getByRole('button', { name: 'Cancel the turn' }).click(),
    () => page.getByRole('button', { name: 'Cancel it' }).click(),
  );
  await page.locator('.turn-facts').getByText('cancelled').waitFor();
});

test('a double click cancels no turn, also where there is little room', async () => {
  const handle = await start('refund_order', REFUND);
  const page = await web().tab(`#/turns/${handle.workflowId}`, { viewport: { width: 390, height: 900 } });
  await doubleClick(page.getByRole('button', { name: 'Cancel the turn' }), async () => {
    const keep = page.getByRole('button', { name: 'Keep it' });
    if (await keep.isVisible()) await keep.click();
  });
  expect(await page.getByRole('button', { name: 'Cancel the turn' }).count()).toBe(1);
  await handle.terminate();
});

test('a turn says who decided and why, and is found by the person', async () => {
  const handle = await start('refund_order', REFUND);
  const { workflowId } = handle;
  await seenOf(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'denied', approver: 'zoe', reason: 'paid twice' });
  const page = await web().tab('#/turns');
  const row = page.locator('.turn-list li').filter({ hasText: workflowId });
  await row.getByText('denied by zoe').waitFor();
  expect(await row.innerText()).toContain('“paid twice”');
  await page.getByLabel('By whom').selectOption('zoe');
  await until('one turn', async () => (await page.locator('.turn-list li').count()) === 1);
  await row.waitFor();
});

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
test('on a phone what a request does begins within 140 px', async () => {
  const { workflowId } = await start('refund_order', REFUND);
  const page = await web().tab(callPlace(workflowId), PHONE);
  const does = page.getByRole('region', { name: /^What it does/ });
  await does.waitFor();
  await page.locator('.grant-offer').first().waitFor();
  const box = await does.boundingBox();
  expect(box?.y).toBeLessThanOrEqual(140);
  await page.context().close();
});

test('100 KB of nested JSON is read whole in 60 presses', async () => {
  const legs = (n: number) => [{ from: 'OSL', to: 'FCO', seat: `${n % 30}A` }];
  const travellers = Array.from({ length: 900 }, (_, n) => {
    return {
      name: `Traveller ${n}`,
      email: `t${n}@example.com`,
      meal: n % 2 ? 'plain' : 'none',
      legs: legs(n),
    };
  });
  const { workflowId } = await start('book', { trip: { id: 'trip-1', travellers } });
  const page = await web().tab('#/');
  await page.evaluate(`location.hash = ${JSON.stringify(callPlace(workflowId))}`);
  await page.getByText('Traveller 0', { exact: true }).first().waitFor();
  expect(await lookAtAll(page, 'key')).toBeLessThanOrEqual(60);
});

test('turns are found by id and by state', async () => {
  const handle = await start('refund_order', REFUND);
  const { prompt } = await web().client.view(handle.workflowId);
  const page = await web().tab('#/turns');
  await page.getByRole('searchbox').fill(handle.workflowId);
  const rows = page.locator('.turn-list li');
  await until('one turn', async () => (await rows.count()) === 1);
  await page.getByLabel('State').selectOption('answered');
  await page.getByText('No turn fits.').waitFor();
  await page.getByLabel('State').selectOption('waiting');
  await rows.getByRole('link').click();
  await page.getByRole('heading', { name: prompt }).waitFor();
});

test('a viewer is shown everything and offered nothing, with the reason', async () => {
  const { workflowId: turn } = await start('refund_order', REFUND);
  const token = await web().addUser(VIEWER, ['fork-live']);
  const page = await web().tab();
  await signOut(page);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  await page.goto(`${web().url}/${callPlace(turn)}`);
  await page.getByText('You may only look: the approvers file makes you a viewer.').waitFor();
  await page.getByText('refund 129.9 EUR of order 4711').first().waitFor();
  expect(await page.getByRole('button', { name: /Approve|Deny|Change/ }).count()).toBe(0);
  await page.goto(`${web().url}/#/turns/${turn}`);
  await page
    .getByRole('heading', { name: /I pay|Picture|Step/ })
    .first()
    .waitFor();
  expect(await page.getByRole('button', { name: /Cancel the turn|What if/ }).count()).toBe(0);
  await page.context().close();
});
