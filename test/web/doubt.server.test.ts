import { TransportError } from '../../src/tools/errors';
import { recordTool } from '../support/effects';
import { decide, waitFor } from '../support/turns';
import type { TurnHandle } from '../support/worker';
import { callPlace } from './desk';
import { expectNoComplaints, usePage } from './page-bench';

const { desk, start } = usePage('doubter', (effects) => [
  recordTool(effects, { name: 'send_payment', safety: 'dangerous' }, () => {
    throw new TransportError('the line broke');
  }),
]);
expectNoComplaints(desk);

/** A turn whose payment was approved and is in doubt. */
const inDoubt = async (tag: string): Promise<TurnHandle> => {
  const handle = await start([{ toolCalls: [{ name: 'send_payment', arguments: { tag } }] }]);
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await waitFor(handle, '1.1', 'in_doubt');
  return handle;
};

test.each([
  ['It happened', 'Say that it happened', 'receipt 7'],
  ['It did not happen', 'Say that it did not', 'did not take effect'],
])('a call in doubt: %s', async (answer, button, read) => {
  const handle = await inDoubt(answer);
  const page = await desk().tab(callPlace(handle.workflowId));
  await page.getByText('nobody knows whether it happened').waitFor();
  expect(await page.getByRole('radio', { checked: true }).count()).toBe(0);
  await page.getByRole('radio', { name: new RegExp(`^${answer} `) }).check();
  if (answer === 'It happened') await page.getByLabel('What it returned').fill('receipt 7');
  await page.getByLabel('How you know').fill('I asked the bank');
  await page.getByRole('button', { name: button }).click();
  await page.locator('.notices').getByText('Resolved').waitFor();
  expect((await handle.result()).answer).toContain(read);
});
