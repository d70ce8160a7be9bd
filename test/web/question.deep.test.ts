import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/contract/json';
import { askUser } from '../../src/tools/builtin/ask-user';
import { defineTool } from '../../src/tools/define-tool';
import type { TurnHandle } from '../support/fixture';
import { unnamedIn } from './accessible';
import { expectNoComplaints, usePage } from './page-fixture';
import { callPlace, listOnly } from './web-inbox';

const FORM = {
  type: 'object',
  properties: {
    city: { type: 'string', title: 'City', description: 'Where the journey ends.', minLength: 2 },
    nights: { type: 'integer', title: 'Nights', minimum: 1, maximum: 30, default: 3 },
    room: { type: 'string', title: 'Room', enum: ['single', 'double'] },
    late: { type: 'boolean', title: 'Late arrival' },
  },
  required: ['city', 'nights', 'room', 'late'],
} satisfies JsonObject;

const pay = defineTool({
  name: 'pay_trip',
  description: 'Pays.',
  safety: 'dangerous',
  parameters: { type: 'object', properties: {} },
  handler: () => 'paid',
});
const { web, start } = usePage('guide', () => [askUser(), pay]);
expectNoComplaints(web);

const ask = (question = 'Which journey shall I book?'): Promise<TurnHandle> =>
  start([{ toolCalls: [{ name: 'ask_user', arguments: { question, schema: FORM } }] }], '1.1', 'question');

const SHOTS = process.env['COUNTERSIGN_SHOTS'];

test('a question is filled in, says what is wrong, and its answer is the result', async () => {
  const handle = await ask();
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByRole('heading', { name: 'The agent asks' }).waitFor();
  await page.getByText('Which journey shall I book?').first().waitFor();
  await page.getByText('Where the journey ends.').waitFor();
  expect(await unnamedIn(page)).toEqual([]);
  expect(await page.getByLabel('Nights').inputValue()).toBe('3');
  expect(await page.locator('[aria-invalid=true]').count()).toBe(0);
  const send = page.locator('#approve[aria-disabled=false]');
  await send.click();
  // An answer approves nothing, also in what only a screen reader reads.
  expect(await page.locator('.decision-bar').textContent()).not.toMatch(/approve/);
  await page.locator('#edit .issues li').first().waitFor();
  await page.getByLabel('City').fill('R');
  await page.getByText('too short').waitFor();
  if (SHOTS !== undefined) writeFileSync(join(SHOTS, 'question.png'), await page.screenshot());
  await page.getByLabel('City').fill('Rome');
  await page.getByLabel('Room').selectOption('double');
  await page.getByLabel('Late arrival').check();
  await page.getByLabel('Reason').fill('by train');
  await page.getByLabel('City').press('Control+Enter');
  await page
    .locator('.notices')
    .getByText(/^Answered: /)
    .waitFor();
  const { answer } = await handle.result();
  expect(answer).toContain('owner answered. Remark: by train');
  expect(answer).toContain('{"city":"Rome","nights":3,"room":"double","late":true}');
  const { calls } = await web().client.view(handle.workflowId);
  expect(calls[0]?.answers).toMatchObject([{ channel: 'web', authenticated: true, approver: 'owner' }]);
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await page.locator('.outcome').getByText('answered').first().waitFor();
});

test('a question is declined', async () => {
  const handle = await ask('May I know your age?');
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('#approve[aria-disabled=false]').waitFor();
  await page.getByLabel('Reason').fill('that is mine');
  await page.getByRole('button', { name: /^Decline/ }).click();
  await page
    .locator('.notices')
    .getByText(/^Declined: /)
    .waitFor();
  expect((await handle.result()).answer).toContain('owner declined to answer: that is mine.');
});

test('hostile words of a question are marks, and the list shows it as a question that no bulk decision takes', async () => {
  const handle = await ask('Pay\u202Eyap <b onclick=alert(1)>now</b>');
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('.question .mark').first().waitFor();
  expect(await page.locator('.question b').count()).toBe(0);
  await page.goto(`${web().url}/#/`);
  await listOnly(page, 'guide');
  const row = page.locator('.row', { hasText: 'yap' });
  await row.getByText('question', { exact: true }).waitFor();
  expect(await row.getByRole('checkbox').count()).toBe(0);
  await handle.terminate();
});

test('the first answer wins: who comes second reads that', async () => {
  const handle = await start(
    [
      {
        toolCalls: [
          { name: 'ask_user', arguments: { question: 'Which one?' } },
          { name: 'pay_trip', arguments: {} },
        ],
      },
    ],
    '1.2',
  );
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('#approve[aria-disabled=false]').waitFor();
  await page.getByRole('textbox', { name: 'Answer' }).fill('the second');
  await web().client.answer(handle.workflowId, {
    ...{ callId: '1.1', answer: 'answered', content: { answer: 'the first' }, approver: 'ann' },
  });
  await page.locator('.outcome').getByText('ann').first().waitFor();
  await page.getByText('the second').first().waitFor();
  await handle.terminate();
});
