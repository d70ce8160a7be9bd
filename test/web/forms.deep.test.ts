import type { Page } from 'playwright-core';
import type { JsonObject } from '../../src/contract/json';
import { defineTool } from '../../src/tools/define-tool';
import type { Effects } from '../support/effects';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, confirm, doubleClick, lookAtAll } from './web-inbox';

const CARD: JsonObject = {
  type: 'object',
  required: ['type', 'number'],
  properties: { type: { const: 'card' }, number: { type: 'string', minLength: 4 } },
};
const BANK: JsonObject = {
  type: 'object',
  required: ['type', 'iban'],
  properties: { type: { const: 'bank' }, iban: { type: 'string', minLength: 4 } },
};
const BOOKING: JsonObject = {
  type: 'object',
  required: ['tag', 'day', 'mail', 'seats', 'note', 'pay'],
  properties: {
    tag: { type: 'string' },
    day: { type: 'string', format: 'date', pattern: '^\\d{4}-\\d\\d-\\d\\d$' },
    mail: { type: 'string', format: 'email', pattern: '^[^@ ]+@[^@ ]+$' },
    seats: { type: 'integer', minimum: 1, maximum: 9, description: 'How many travel.' },
    note: { anyOf: [{ type: 'string', maxLength: 40 }, { type: 'null' }] },
    pay: { oneOf: [CARD, BANK] },
    class: { enum: ['second', 'first'] },
    rows: { type: 'array', items: { type: 'integer' } },
    bags: { type: 'array', items: {} },
    tip: { anyOf: [{ type: 'number' }, { type: 'string' }] },
  },
};

const { effects, web, start } = usePage('forms', (written: Effects) => [
  defineTool({
    name: 'book_trip',
    description: 'Books a trip.',
    safety: 'dangerous',
    parameters: BOOKING,
    handler: async (args) => {
      await written.add(`booked ${JSON.stringify(args)}`);
      return 'booked';
    },
  }),
]);
expectNoComplaints(web);

const TRIP = {
  ...{ day: '2026-12-24', mail: 'ann@example.com', seats: 2, note: null, class: 'second' },
  pay: { type: 'card', number: '4111' },
};

const book = (tag: string, more: JsonObject = {}): Promise<TurnHandle> =>
  start([{ toolCalls: [{ name: 'book_trip', arguments: { ...TRIP, ...more, tag } }] }]);

const change = async (tag: string, more: JsonObject = {}) => {
  const handle = await book(tag, more);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  return { handle, page };
};

const booked = (tag: string): Promise<JsonObject> =>
  until(`${tag} booked`, async () => {
    const line = (await effects.lines(`"tag":"${tag}"`))[0];
    return line === undefined ? undefined : JSON.parse(line.slice('booked '.length));
  });

const why = (page: Page) => page.locator('#why');

test('limits stand beside a field before anybody breaks them', async () => {
  const { page } = await change('limits');
  const form = page.locator('#edit');
  for (const words of [
    'How many travel.',
    'a whole number, 1 to 9',
    'a date, such as 2026-11-22',
    'an e-mail address',
  ])
    await form.getByText(words).waitFor();
  expect(await page.locator('.leaves').count()).toBe(0);
});

test('each wrong field has one message, and all are counted', async () => {
  const { page } = await change('wrong');
  await page.getByLabel('day', { exact: true }).fill('24.12.');
  await page.getByLabel('mail', { exact: true }).fill('ann');
  await page.getByLabel('seats', { exact: true }).fill('12,5');
  await page.getByLabel('Kind of note').selectOption('text');
  await page.getByLabel('note', { exact: true }).fill('x'.repeat(41));
  await page.getByLabel('number', { exact: true }).fill('1');
  await why(page).getByText('5 fields have to be corrected first.').waitFor();
  expect(await page.locator('.issues li').allInnerTexts()).toEqual([
    'has to be a date, such as 2026-11-22',
    'has to be an e-mail address',
    'has to be a number with a point: 12.5',
    'is too long: 41 of at most 40 characters',
    'is too short: 1 of at least 4 characters',
  ]);
});

test('null, a variant and a date are chosen, and Ctrl+Enter approves', async () => {
  const { page } = await change('chosen');
  await page.getByLabel('Kind of note').selectOption('text');
  await page.getByLabel('note', { exact: true }).fill('by the window');
  await page.getByLabel('Kind of pay').selectOption('bank');
  await page.getByLabel('iban', { exact: true }).fill('DE02');
  await page.getByLabel('Kind of pay').selectOption('card');
  expect(await page.getByLabel('number', { exact: true }).inputValue()).toBe('4111');
  await page.getByLabel('Kind of pay').selectOption('bank');
  expect(await page.getByLabel('iban', { exact: true }).inputValue()).toBe('DE02');
  await page.getByLabel('Calendar').fill('2027-01-02');
  expect(await page.getByLabel('day', { exact: true }).inputValue()).toBe('2027-01-02');
  await lookAtAll(page);
  await page.getByLabel('seats', { exact: true }).fill('3');
  await page.keyboard.press('Control+Enter');
  await page.locator('.notices').getByText('book_trip').waitFor();
  expect(await booked('chosen')).toEqual({
    ...{ ...TRIP, tag: 'chosen', day: '2027-01-02', seats: 3, note: 'by the window' },
    pay: { type: 'bank', iban: 'DE02' },
  });
});

test('each item keeps its own text when the item before it goes', async () => {
  const { page } = await change('items', { rows: [5, 5, 5], bags: [{ kilos: 1 }, { kilos: 2 }] });
  const items = (name: string) => page.getByRole('group', { name });
  const texts = async (name: string): Promise<string[]> => {
    const inputs = await items(name).locator('input, textarea').all();
    return Promise.all(inputs.map((input) => input.inputValue()));
  };
  await items('rows').getByLabel('3', { exact: true }).fill('5,');
  await items('rows').getByRole('button', { name: 'Remove 2' }).click();
  expect(await texts('rows')).toEqual(['5', '5,']);
  await items('rows').getByRole('button', { name: 'Remove 2' }).click();
  expect(await texts('rows')).toEqual(['5']);
  await items('bags').getByRole('button', { name: 'Remove 1' }).click();
  expect((await texts('bags')).map((text) => JSON.parse(text))).toEqual([{ kilos: 2 }]);
});

test('a value that is not needed is left out, and not sent', async () => {
  const { page } = await change('left out');
  await page.getByRole('button', { name: 'Leave out class' }).click();
  await page.getByRole('button', { name: '+ class' }).waitFor();
  expect(await page.getByRole('button', { name: 'Leave out seats' }).count()).toBe(0);
  await lookAtAll(page);
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  expect(await booked('left out')).not.toHaveProperty('class');
});

test('a value that is half typed is there again when its kind is', async () => {
  const { page } = await change('half typed', { tip: 5 });
  await page.getByLabel('tip', { exact: true }).fill('5,');
  await page.getByLabel('Kind of tip').selectOption('text');
  await page.getByLabel('tip', { exact: true }).fill('as you like');
  await page.getByLabel('Kind of tip').selectOption('a number');
  expect(await page.getByLabel('tip', { exact: true }).inputValue()).toBe('5,');
  await why(page).getByText('One field has to be corrected first.').waitFor();
});

test('Ctrl+Enter decides nothing while something is wrong, and goes there', async () => {
  const { handle, page } = await change('not yet');
  await page.getByLabel('mail', { exact: true }).fill('ann');
  await page.getByLabel('tag', { exact: true }).press('Control+Enter');
  await page.locator('#field\\/mail:focus').waitFor();
  expect((await web().client.view(handle.workflowId)).requests).toHaveLength(1);
});

test('Escape leaves the field, then the request; what was typed stays', async () => {
  const { page } = await change('escape');
  const seats = page.getByLabel('seats', { exact: true });
  await seats.fill('7');
  await page.keyboard.press('Escape');
  expect(await seats.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(false);
  expect(await seats.inputValue()).toBe('7');
  await page.keyboard.press('Escape');
  await page.locator('.panes:not(.has-open)').waitFor();
  await page.goBack();
  expect(await seats.inputValue()).toBe('7');
});

test('with changed arguments Ctrl+Enter in the reason denies nothing', async () => {
  const { handle, page } = await change('no mistake');
  await page.getByLabel('seats', { exact: true }).fill('7');
  await page.getByLabel('Reason').fill('seven travel');
  await page.keyboard.press('Control+Enter');
  await page.locator('#approve:focus').waitFor();
  expect((await web().client.view(handle.workflowId)).requests).toHaveLength(1);
});

test('the changes are dropped only when the person says so twice', async () => {
  const { page } = await change('dropped');
  const seats = page.getByLabel('seats', { exact: true });
  await seats.fill('7');
  const drop = page.getByRole('button', { name: 'Drop the changes' });
  await drop.click();
  await page.getByRole('button', { name: 'Keep it' }).click();
  expect(await seats.inputValue()).toBe('7');
  await confirm(
    page,
    () => drop.click(),
    () => page.getByRole('button', { name: 'Drop it' }).click(),
  );
  await page.locator('.leaves').waitFor();
});

test('a double click drops no changes', async () => {
  const { page } = await change('double click');
  const seats = page.getByLabel('seats', { exact: true });
  await seats.fill('7');
  await doubleClick(page.getByRole('button', { name: 'Drop the changes' }), async () => {
    const keep = page.getByRole('button', { name: 'Keep it' });
    if (await keep.isVisible()) await keep.click();
  });
  expect(await seats.inputValue()).toBe('7');
});

test('the keyboard stays at the changes while they are begun and dropped', async () => {
  const handle = await book('by the keyboard');
  const page = await web().tab(callPlace(handle.workflowId));
  const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent');
  const start = page.getByRole('button', { name: /^Change/ });
  const drop = page.getByRole('button', { name: 'Drop the changes' });
  await start.press('Enter');
  await drop.waitFor();
  await page.locator('#edit :focus').waitFor();
  await drop.press('Enter');
  await start.and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await page.getByLabel('seats', { exact: true }).fill('7');
  await drop.press('Enter');
  expect(await focused()).toBe('Keep it');
  await page.keyboard.press('Enter');
  expect(await focused()).toBe('Drop the changes');
  await confirm(
    page,
    () => page.keyboard.press('Enter'),
    async () => {
      await page.keyboard.press('Shift+Tab');
      expect(await focused()).toBe('Drop it');
      await page.keyboard.press('Enter');
    },
  );
  await start.and(page.locator(':focus')).waitFor();
  await handle.terminate();
});

test('the first click on Deny asks why, the second one denies', async () => {
  const handle = await book('why');
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  const deny = page.getByRole('button', { name: /^Deny/ });
  await deny.click();
  await page.getByText('Say why, or press Deny again.').waitFor();
  expect(await page.locator('#reason:focus').count()).toBe(1);
  await deny.click();
  await page.locator('.notices').getByText('Denied book_trip').waitFor();
});

test('a reason is counted in bytes, beside its field, and not sent when it is too long', async () => {
  const handle = await book('bytes');
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  const reason = page.getByLabel('Reason');
  await reason.fill('é'.repeat(4_000));
  await page.getByText('8,000 of 4,096 bytes: make it shorter.').waitFor();
  expect(await reason.getAttribute('aria-invalid')).toBe('true');
  await page.getByRole('button', { name: /^Deny/ }).click();
  expect(await page.locator('#reason:focus').count()).toBe(1);
  expect((await web().client.view(handle.workflowId)).requests).toHaveLength(1);
  await reason.fill('é'.repeat(2_048));
  await page.getByText('4,096 of 4,096 bytes', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Deny/ }).click();
  await page.locator('.notices').getByText('Denied book_trip').waitFor();
});

test('a long text is looked at to its end in the form too', async () => {
  const handle = await book('long', { note: null });
  await handle.terminate();
  const lines = Array.from({ length: 90 }, (_, index) => `line ${index}`).join('\n');
  const long = await start([{ toolCalls: [{ name: 'book_trip', arguments: { ...TRIP, tag: lines } }] }]);
  const page = await web().tab(callPlace(long.workflowId));
  await page.getByRole('button', { name: /^Change/ }).click();
  await page.getByLabel('seats', { exact: true }).fill('3');
  await why(page)
    .getByText(/parts have not been in sight yet/)
    .waitFor();
  await lookAtAll(page);
  await page.locator('#approve[aria-disabled="false"]').waitFor();
});
