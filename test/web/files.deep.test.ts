import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { LIMITS } from '../../src/contract/limits';
import type { Model } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { type Fixture, startFixture } from '../support/fixture';
import { until } from '../support/until';
import { expectNoComplaints } from './page-fixture';
import { openWebInbox, talkPlace, type WebInbox } from './web-inbox';

const AGENT = 'files-page';
const store = mkdtempSync(join(tmpdir(), 'countersign-test-'));
afterAll(() => rmSync(store, { recursive: true, force: true }));

/** Answers with the bytes of the files of the last message. */
const model: Model = {
  id: 'reader',
  takes: ['image/*'],
  async generate({ messages }) {
    const last = messages.at(-1);
    const files = last?.role === 'user' ? (last.files ?? []) : [];
    const texts = files.map(
      ({ name, bytes }) => `${name}: ${Buffer.from(bytes).toString('latin1').slice(8)}`,
    );
    return { text: `read ${texts.join(', ')}; ${last?.content}`, toolCalls: [], finishReason: 'stop' };
  },
};

let web: WebInbox;
let fixture: Fixture;
beforeAll(async () => {
  web = await openWebInbox(undefined, 0, store);
  const agent = defineAgent({ name: AGENT, instructions: 'read', model, tools: [] });
  fixture = await startFixture({ agents: [agent], files: store });
});
afterAll(() => web.stop());
expectNoComplaints(() => web);

const given = (name: string, text: string | Buffer) => ({
  ...{ name, mimeType: 'application/octet-stream' },
  buffer: Buffer.isBuffer(text) ? text : Buffer.from(text, 'latin1'),
});
const picture = (text: string): Buffer => Buffer.from(`\x89PNG\r\n\x1a\n${text}`, 'latin1');
const newId = (): string => `files-${randomUUID()}`;
const place = (session: string): string =>
  `${talkPlace(session)}?agent=${AGENT}&queue=${encodeURIComponent(fixture.taskQueue)}`;
const begin = async (session = newId()): Promise<Page> => {
  const page = await web.tab(place(session));
  await message(page).waitFor();
  return page;
};
const message = (page: Page) => page.getByLabel('Message', { exact: true });
const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');
const choose = (page: Page, ...files: ReturnType<typeof given>[]) =>
  page.locator('input[type=file]').setInputFiles(files);
const answer = (page: Page, text: string) => page.locator('.said.answer').getByText(text).waitFor();
/** What the composer has against it. */
const problem = (page: Page) => page.locator('#say-problem');

/** Pastes or drops, as a browser tells the page; true where the page took it for itself. */
const give = (
  page: Page,
  how: 'paste' | 'drop',
  files: Record<string, string>,
  text = '',
): Promise<boolean> =>
  page.evaluate<boolean>(`(() => {
    const data = new DataTransfer();
    for (const [name, bytes] of Object.entries(${JSON.stringify(files)})) data.items.add(new File([bytes], name));
    if (${JSON.stringify(text)} !== '') data.setData('text/plain', ${JSON.stringify(text)});
    const options = { bubbles: true, cancelable: true };
    const isPaste = ${JSON.stringify(how)} === 'paste';
    const event = isPaste
      ? new ClipboardEvent('paste', { ...options, clipboardData: data })
      : new DragEvent('drop', { ...options, dataTransfer: data });
    (isPaste ? document.querySelector('#say') : document.body).dispatchEvent(event);
    return event.defaultPrevented;
  })()`);

test('a person attaches by keyboard, takes one away, reloads, and the model reads the rest', async () => {
  const page = await begin();
  await message(page).fill('what is in them?');
  await page.getByRole('button', { name: 'Attach files' }).focus();
  const chooser = page.waitForEvent('filechooser');
  // The browser hears of the waiting on one way and of keys on another. This answer comes on the first.
  await page.evaluate('0');
  await page.keyboard.press('Enter');
  await (await chooser).setFiles([given('a.png', picture('one')), given('b.png', picture('two'))]);
  await attached(page).getByText('b.png (image/png, 11 B)').waitFor();
  expect(await attached(page).allInnerTexts()).toEqual([
    expect.stringContaining('a.png (image/png, 11 B)'),
    expect.stringContaining('b.png (image/png, 11 B)'),
  ]);
  await page.locator('.composer [role=status]').getByText('b.png is attached').waitFor();
  await page.getByRole('button', { name: 'Remove b.png' }).press('Enter');
  await page.locator('.composer [role=status]').getByText('b.png is removed').waitFor();
  expect(await page.evaluate<string>('document.activeElement?.id')).toBe('attach');
  await page.reload();
  await attached(page).getByText('a.png (image/png, 11 B)').waitFor();
  expect(await attached(page).count()).toBe(1);
  await message(page).press('Control+Enter');
  await answer(page, 'read a.png: one');
  await page.locator('.said.person').getByText('a.png (image/png, 11 B)').waitFor();
  expect(await attached(page).count()).toBe(0);
  await page.context().close();
});

test('a picture is pasted and a file dropped, but text with a picture of it is pasted as text', async () => {
  const page = await begin();
  expect(await give(page, 'paste', { 'table.png': 'x' }, '1\t2')).toBe(false);
  expect(await give(page, 'paste', { 'image.png': 'pasted' })).toBe(true);
  await attached(page).getByText('image.png (').waitFor();
  expect(await give(page, 'drop', { 'notes.txt': 'dropped words' })).toBe(true);
  await attached(page).getByText('notes.txt (text/plain, 13 B)').waitFor();
  expect(await attached(page).count()).toBe(2);
  await message(page).fill('and?');
  await message(page).press('Control+Enter');
  await answer(page, 'dropped words');
  await page.context().close();
});

test('what cannot go along is said in words, and the rest is attached', async () => {
  const page = await begin();
  const small = Array.from({ length: 9 }, (_, n) => given(`${n}.txt`, `text ${n}`));
  await choose(page, given('big.bin', Buffer.alloc(LIMITS.fileBytes + 1)), given('void', ''), ...small);
  await problem(page).getByText('big.bin is over 10 MiB.').waitFor();
  expect(await problem(page).innerText()).toContain('void is empty, or a folder.');
  expect(await problem(page).innerText()).toContain('A message has at most 8 files.');
  await attached(page).nth(7).getByText('7.txt (text/plain, 6 B)').waitFor();
  await choose(page, given('one more.txt', 'x'));
  await problem(page).getByText('A message has at most 8 files.').waitFor();
  expect(await attached(page).count()).toBe(8);
  await page.getByRole('button', { name: 'Send' }).click();
  await problem(page).getByText('Write something first.').waitFor();
  await page.context().close();
});

test('the same file twice is attached once', async () => {
  const page = await begin();
  await choose(page, given('a.txt', 'same'));
  await attached(page).getByText('a.txt (text/plain, 4 B)').waitFor();
  await choose(page, given('a.txt', 'same'), given('copy.txt', 'same'));
  await attached(page).getByText('copy.txt (text/plain, 4 B)').waitFor();
  expect(await attached(page).count()).toBe(2);
  await page.context().close();
});

test('a file on its way is shown, holds the message back, can be stopped, and may be cut off', async () => {
  const page = await begin();
  let held: (() => Promise<void>) | undefined;
  await page.route('**/api/files', async (route) => {
    if (route.request().headers()['file-name'] === 'cut.txt') return route.abort();
    await new Promise<void>((resolve) => {
      held = async () => resolve();
    });
    // The page may have given it up.
    await route.continue().catch(() => undefined);
  });
  await message(page).fill('wait for it');
  await choose(page, given('slow.txt', 'slow'), given('next.txt', 'next'));
  await page.getByRole('progressbar', { name: 'Sending slow.txt' }).waitFor();
  await until('the request', () => held);
  await message(page).press('Control+Enter');
  await problem(page).getByText('A file is still on its way.').waitFor();
  await page.getByRole('button', { name: 'Stop sending next.txt' }).click();
  await page.getByRole('progressbar', { name: 'Sending next.txt' }).waitFor({ state: 'detached' });
  await held?.();
  await attached(page).getByText('slow.txt (text/plain, 4 B)').waitFor();
  await choose(page, given('cut.txt', 'cut'));
  await problem(page).getByText('cut.txt is not attached.').waitFor();
  expect(await attached(page).count()).toBe(1);
  await message(page).press('Control+Enter');
  await answer(page, 'wait for it');
  await page.context().close();
});

test('files of an inbox that has started anew are refused in words, and go along once they are attached again', async () => {
  const page = await begin();
  await message(page).fill('after the restart');
  await choose(page, given('a.png', picture('mine')));
  await attached(page).getByText('a.png (image/png').waitFor();
  // As if another process had given the proof.
  await page.route('**/messages', async (route) => {
    const body = route.request().postDataJSON();
    body.files[0].proof = 'a'.repeat(64);
    await route.continue({ postData: JSON.stringify(body) });
  });
  await message(page).press('Control+Enter');
  await problem(page).getByText('you did not send the file a.png to this web inbox').waitFor();
  await page.unroute('**/messages');
  await page.getByRole('button', { name: 'Remove a.png' }).click();
  await choose(page, given('a.png', picture('mine')));
  await attached(page).getByText('a.png (image/png').waitFor();
  await message(page).press('Control+Enter');
  await answer(page, 'read a.png: mine');
  await page.context().close();
});

test('two tabs have their own files, and both messages take them', async () => {
  const session = newId();
  const [first, second] = [await begin(session), await begin(session)];
  for (const [page, text] of [
    [first, 'left'],
    [second, 'right'],
  ] as const) {
    await message(page).fill(`the ${text} one`);
    await choose(page, given('same.png', picture(text)));
    await attached(page).getByText('same.png (image/png').waitFor();
  }
  await Promise.all([first, second].map((page) => message(page).press('Control+Enter')));
  await Promise.all(
    [first, second].flatMap((page) => [
      answer(page, 'read same.png: left'),
      answer(page, 'read same.png: right'),
    ]),
  );
  const { messages } = await web.client.session(session).history();
  expect(messages.map(({ files = [] }) => files.length)).toEqual([1, 1]);
  await Promise.all([first, second].map((page) => page.context().close()));
});

test('without a store there is nothing to attach with, and the browser does as ever', async () => {
  const without = await openWebInbox(undefined, 0, '');
  try {
    const page = await without.tab(place(newId()));
    await message(page).waitFor();
    expect(await page.getByRole('button', { name: 'Attach files' }).count()).toBe(0);
    expect(await give(page, 'drop', { 'a.txt': 'x' })).toBe(false);
    expect(await attached(page).count()).toBe(0);
    expect(without.complaints).toEqual([]);
  } finally {
    await without.stop();
  }
});
