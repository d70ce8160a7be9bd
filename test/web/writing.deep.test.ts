import { randomUUID } from 'node:crypto';
import { ModelError } from '../../src/models/model';
import type { Model } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { type Fixture, startFixture } from '../support/fixture';
import { until } from '../support/until';
import { openWebInbox, talkPlace, type WebInbox } from './web-inbox';
import { expectNoComplaints } from './page-fixture';

/** One attempt to ask the model, which the test answers. */
interface Attempt {
  write(text: string): void;
  answer(text: string): void;
  fail(): void;
}

const attempts: Attempt[] = [];
const model: Model = {
  id: 'test/held',
  generate: ({ onText }) =>
    new Promise((resolve, reject) => {
      attempts.push({
        write: (text) => onText?.(text),
        answer: (text) => resolve({ text, toolCalls: [], finishReason: 'stop' }),
        fail: () => reject(new ModelError('server', 'it broke', { retryable: true })),
      });
    }),
};

let web: WebInbox;
let fixture: Fixture;
beforeAll(async () => {
  web = await openWebInbox();
  const agent = defineAgent({ name: 'held', instructions: 'write', model, tools: [] });
  fixture = await startFixture({ agents: [agent], worker: { stream: (pieces) => web.takeText(pieces) } });
});
afterAll(() => web.stop());
expectNoComplaints(() => web);

const attempt = (index: number): Promise<Attempt> => until(`attempt ${index + 1}`, () => attempts.at(index));

/** The model is asked in both tests. */
beforeEach(() => void (attempts.length = 0));
// A worker does not stop while its model is asked.
afterEach(() => attempts.forEach(({ answer }) => answer('over')));

test('the page of a turn shows the text grow, begin anew with a retry, and give way to the answer', async () => {
  const { turn } = await web.client.start({ agent: 'held', prompt: 'go', taskQueue: fixture.taskQueue });
  const page = await web.tab(`#/turns/${turn}`);
  const writing = page.getByRole('region', { name: 'The model writes' });
  const first = await attempt(0);
  first.write('Once upon');
  await writing.getByText('Once upon', { exact: true }).waitFor();
  first.write(' a time, \u202edeceived');
  await writing.getByText('Once upon a time,').waitFor();
  expect(await writing.innerText()).not.toContain('\u202e');
  expect(await writing.locator('.mark').count()).toBe(1);
  const late = await page.context().newPage();
  await late.goto(`${web.url}/#/turns/${turn}`);
  await late.getByRole('region', { name: 'The model writes' }).getByText('Once upon a time,').waitFor();
  first.fail();
  const second = await attempt(1);
  second.write('There was');
  await writing.getByText('There was', { exact: true }).waitFor();
  await writing.getByText('Attempt 2: it begins anew.').waitFor();
  expect(await writing.innerText()).not.toContain('Once');
  second.answer('There was a king.');
  await page.getByRole('region', { name: 'Answer' }).getByText('There was a king.').waitFor();
  await writing.waitFor({ state: 'detached' });
  await page.context().close();
}, 90_000);

test('a conversation shows the text grow and begin anew; who opens it late reads all of it, and the answer stays', async () => {
  const session = web.client.session(`s-${randomUUID()}`, { agent: 'held', taskQueue: fixture.taskQueue });
  await session.send('tell me');
  const place = talkPlace(session.id);
  const page = await web.tab(place);
  const writing = page.getByRole('region', { name: 'The model writes' });
  const first = await attempt(0);
  first.write('One two');
  await writing.getByText('One two', { exact: true }).waitFor();
  first.write(' three.\nfour');
  await writing.getByText('four').waitFor();
  const late = await page.context().newPage();
  await late.goto(`${web.url}/${place}`);
  const seenLate = late.getByRole('region', { name: 'The model writes' });
  await seenLate.getByText('One two three.').waitFor();
  first.fail();
  const second = await attempt(1);
  second.write('Another');
  for (const seen of [writing, seenLate]) {
    await seen.getByText('Another', { exact: true }).waitFor();
    await seen.getByText('Attempt 2: it begins anew.').waitFor();
    expect(await seen.innerText()).not.toContain('One two');
  }
  // What came before is in the reply of the attempt that counts alone.
  const later = await page.context().newPage();
  await later.goto(`${web.url}/${place}`);
  await later
    .getByRole('region', { name: 'The model writes' })
    .getByText('Another', { exact: true })
    .waitFor();
  second.answer('Another answer.');
  for (const tab of [page, late, later]) {
    await tab.locator('.said.answer').getByText('Another answer.', { exact: true }).waitFor();
    await tab.getByRole('region', { name: 'The model writes' }).waitFor({ state: 'detached' });
  }
  const { turns } = await session.history();
  expect(turns.map(({ answer }) => answer)).toEqual(['Another answer.']);
  await page.context().close();
}, 90_000);
