import { keyOfStart } from '../../src/history/view';
import { TransportError } from '../../src/tools/errors';
import { recordTool } from '../support/effects';
import { decide, waitFor } from '../support/turns';
import { callPlace, confirm } from './web-inbox';
import { expectNoComplaints, usePage } from './page-fixture';
import type { TurnHandle } from '../support/fixture';

/** A payment breaks off at its first start, after its effect, and goes through at any other. */
const { effects, web, start } = usePage('doubter', (written) => [
  recordTool(
    written,
    { name: 'send_payment', safety: 'dangerous', preview: ({ tag }) => `sends ${String(tag)}` },
    async (tag) => {
      if ((await written.lines(tag)).length === 1) throw new TransportError('the line broke');
    },
  ),
]);
expectNoComplaints(web);

/** A turn whose payment was approved and is in doubt. */
const inDoubt = async (tag: string): Promise<TurnHandle> => {
  const handle = await start([{ toolCalls: [{ name: 'send_payment', arguments: { tag } }] }]);
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await waitFor(handle, '1.1', 'in_doubt');
  return handle;
};

test.each([
  ['It happened', 'Say that it happened', { read: 'receipt 7', starts: 1, resolution: 'happened' }],
  [
    'It did not happen',
    'Say that it did not',
    { read: 'did not take effect', starts: 1, resolution: 'did-not' },
  ],
  ['Run it again', 'Run it again', { read: 'send_payment did', starts: 2, resolution: 'run-again' }],
])('a call in doubt: %s', async (answer, button, { read, starts, resolution }) => {
  const handle = await inDoubt(answer);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByText('nobody knows whether it happened').waitFor();
  const [call] = (await web().client.view(handle.workflowId)).calls;
  await page.getByText(call === undefined ? '' : (keyOfStart(call) ?? '')).waitFor();
  await page.locator('.facts').getByText('ann').waitFor();
  await page.getByRole('region', { name: 'What 1.1 does' }).getByText(`sends ${answer}`).waitFor();
  const send = await page.getByRole('button', { name: 'Choose one' }).boundingBox();
  expect(send === null ? Infinity : send.y + send.height).toBeLessThanOrEqual(900);
  expect(await page.getByRole('radio', { checked: true }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Choose one' }).isDisabled()).toBe(true);
  await page.getByRole('radio', { name: new RegExp(`^${answer} `) }).check();
  if (answer === 'It happened') await page.getByLabel('What it returned').fill('receipt 7');
  await page.getByLabel('How you know').fill('I asked the bank');
  expect(await effects.lines(answer)).toHaveLength(1);
  await page.getByRole('button', { name: button }).click();
  await page.locator('.notices').getByText(`${answer}: sends `).waitFor();
  expect((await handle.result()).answer).toContain(read);
  expect(await effects.lines(answer)).toHaveLength(starts);
  const { calls } = await web().client.view(handle.workflowId);
  expect(calls[0]?.resolutions).toMatchObject([
    { resolution, approver: 'owner', channel: 'web', reason: 'I asked the bank' },
  ]);
});

test('a turn with a call in doubt is given up after it was asked to end, and nothing runs again', async () => {
  const handle = await inDoubt('given up');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await confirm(
    page,
    () => page.getByRole('button', { name: 'Cancel the turn' }).click(),
    () => page.getByRole('button', { name: 'Cancel it' }).click(),
  );
  const giveUp = page.getByRole('button', { name: 'Give it up' });
  await giveUp.click();
  await page.getByText('which stays on record as unresolved').waitFor();
  await page.getByRole('button', { name: 'Keep it' }).click();
  expect((await web().client.view(handle.workflowId)).inDoubt).toHaveLength(1);
  await confirm(page, () => giveUp.click());
  await page.locator('.turn-facts').getByText('cancelled').waitFor();
  await expect(handle.result()).rejects.toThrow();
  expect(await effects.lines('given up')).toHaveLength(1);
  const events = await web().client.timeline(handle.workflowId);
  expect(events).toContainEqual(expect.objectContaining({ type: 'abandoned', approver: 'owner' }));
  const { calls } = await web().client.view(handle.workflowId);
  expect(calls[0]).toMatchObject({ resolutions: [], result: { error: { code: 'in_doubt' } } });
});

test('a question keeps its meaning if another person asks the turn to end meanwhile', async () => {
  const handle = await inDoubt('asked twice');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  await page.getByRole('button', { name: 'Cancel the turn' }).click();
  await page.getByRole('button', { name: 'Cancel it' }).waitFor();
  await web().client.cancel(handle.workflowId);
  await page.getByText('It was asked to end meanwhile.').waitFor();
  expect(await page.getByText('which stays on record as unresolved').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Cancel it' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Give it up' }).click();
  await page.getByText('which stays on record as unresolved').waitFor();
  await handle.terminate();
});

test('the keyboard stays at the button of a turn while it is asked about', async () => {
  const handle = await inDoubt('by the keyboard');
  const page = await web().tab(`#/turns/${handle.workflowId}`);
  const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent');
  await page.getByRole('button', { name: 'Cancel the turn' }).press('Enter');
  await page.getByRole('button', { name: 'Cancel it' }).waitFor();
  expect(await focused()).toBe('Keep it');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Cancel it' }).waitFor({ state: 'detached' });
  expect(await focused()).toBe('Cancel the turn');
  await confirm(
    page,
    () => page.keyboard.press('Enter'),
    async () => {
      await page.keyboard.press('Shift+Tab');
      expect(await focused()).toBe('Cancel it');
      await page.keyboard.press('Enter');
    },
  );
  await page.getByRole('button', { name: 'Give it up' }).waitFor();
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('turn-title');
  await handle.terminate();
});
