import { randomUUID } from 'node:crypto';
import { ModelError } from '../../src/models/model';
import type { Model } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { type Fixture, startFixture } from '../support/fixture';
import { until } from '../support/until';
import { openWebInbox, say, talkPlace, type WebInbox } from './web-inbox';
import { expectNoComplaints } from './page-fixture';

/** One attempt to ask the model, which the test answers. */
interface Attempt {
  write(text: string): void;
  answer(text: string): void;
  fail(): void;
  refuse(): void;
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
        refuse: () => reject(new ModelError('request', 'it refused', { retryable: false })),
      });
    }),
};

let web: WebInbox;
let fixture: Fixture;
beforeAll(async () => {
  web = await openWebInbox();
  const agent = defineAgent({ name: 'held', instructions: 'write', model, tools: [] });
  fixture = await startFixture({ agents: [agent], worker: { stream: (pieces) => web.takeText(pieces) } });
}, 120_000);
afterAll(() => web.stop());
expectNoComplaints(() => web);

const attempt = (index: number): Promise<Attempt> => until(`attempt ${index + 1}`, () => attempts.at(index));

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

/** A conversation whose first turn is about `go`, as the page shows it; its place among the attempts is given back, too. */
async function talk() {
  const [id, from] = [`writing-${randomUUID()}`, attempts.length];
  const session = web.client.session(id, { agent: 'held', taskQueue: fixture.taskQueue });
  await session.send('go');
  const page = await web.tab(talkPlace(id));
  await page.getByRole('heading', { name: 'Conversation with held' }).waitFor();
  return { page, attempt: (index: number) => attempt(from + index) };
}

test('a conversation shows the text grow, begin anew with a retry, and give way to the answer', async () => {
  const { page, attempt } = await talk();
  const writing = page.getByRole('region', { name: 'The model writes' });
  const first = await attempt(0);
  first.write('Once upon');
  await writing.getByText('Once upon', { exact: true }).waitFor();
  first.write(' a time');
  await writing.getByText('Once upon a time', { exact: true }).waitFor();
  first.fail();
  const second = await attempt(1);
  second.write('There was');
  await writing.getByText('There was', { exact: true }).waitFor();
  await writing.getByText('Attempt 2: it begins anew.').waitFor();
  expect(await writing.innerText()).not.toContain('Once');
  second.answer('There was a king.');
  await page.locator('.said.answer').getByText('There was a king.').waitFor();
  await writing.waitFor({ state: 'detached' });
  await page.context().close();
}, 90_000);

test('a conversation is compacted by a button, which says what it did, that it failed, and that there is nothing to do', async () => {
  const { page, attempt } = await talk();
  const notices = page.locator('.notices');
  const compact = page.getByRole('button', { name: 'Compact' });
  (await attempt(0)).answer('The first answer.');
  await page.locator('.said.answer').getByText('The first answer.').waitFor();
  await compact.click();
  await notices.getByText('There is nothing to compact: the last turn stays word by word.').waitFor();

  await say(page, 'once more');
  const second = await attempt(1);
  await page.getByRole('button', { name: 'Stop the turn' }).waitFor();
  await compact.click();
  await notices.getByText('Once this turn has ended, a model summarizes all turns but the last.').waitFor();
  second.answer('The second answer.');
  (await attempt(2)).refuse();
  await notices.getByText(/Nothing was compacted: .*it refused/).waitFor();

  await compact.click();
  await notices.getByText('A model summarizes all turns but the last.').waitFor();
  (await attempt(3)).answer('They spoke of kings.');
  await notices.getByText('1 turn compacted by test/held. The summary is on top.').waitFor();
  await page.getByText('The model knows the first 1 turn by this summary').click();
  await page.getByText('They spoke of kings.').waitFor();
  await compact.click();
  await notices.getByText('There is nothing to compact').waitFor();
  await page.context().close();
}, 90_000);
