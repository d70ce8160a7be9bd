import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { recordTool } from '../support/effects';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { startCli } from '../cli/process';
import { callPlace, gate, holdFirst, listOnly, lookAtAll, signOut } from './web-inbox';
import { close, expectNoComplaints, usePage } from './page-fixture';
import type { TurnHandle } from '../support/fixture';

const AGENT = 'live-page';
const { web, effects, book, client, fixture, start } = usePage(AGENT, (written) => [
  recordTool(written, { name: 'live_pay', safety: 'dangerous', requestExpires: '10m' }),
  recordTool(written, { name: 'live_look', safety: 'safe' }),
]);
expectNoComplaints(web);

const ask = (tag: string): Promise<TurnHandle> =>
  start([{ toolCalls: [{ name: 'live_pay', arguments: { tag } }] }]);
const approve = (page: Page) => page.locator('#approve');
const connection = (page: Page) => page.locator('.connection');

describe('a web inbox that stands still', () => {
  let directory: string;
  let command: ReturnType<typeof startCli>;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'countersign-still-'));
    command = startCli(['web', '--port', '0', '--undo', '0', '--address', testAddress()], {
      cwd: directory,
      env: { XDG_STATE_HOME: directory },
    });
    await until('the link', () => command.out().includes('#code='));
  });
  afterAll(async () => {
    command.signal('SIGCONT');
    command.signal('SIGTERM');
    await command.ended;
    await rm(directory, { recursive: true, force: true });
  });

  test('is shown as lost, and what is approved meanwhile is not left without a word', async () => {
    const [first, second] = [await ask('still one'), await ask('still two')];
    const page = await web().tab();
    await page.goto(/http:\/\/\S+#code=\S+/.exec(command.out())?.[0] ?? '');
    await connection(page).getByText('live', { exact: true }).waitFor();
    const { origin } = new URL(page.url());
    // One tab listens for all of them.
    const other = await page.context().newPage();
    await other.goto(`${origin}/${callPlace(second.workflowId)}`);
    await connection(other).getByText('live', { exact: true }).waitFor();
    await page.goto(`${origin}/${callPlace(first.workflowId)}`);
    await lookAtAll(page);
    await lookAtAll(other);

    command.signal('SIGSTOP');
    const stoppedAt = Date.now();
    await approve(page).click();
    await page.locator('.notices').getByText('It was sent; no answer yet').waitFor();
    for (const tab of [page, other])
      await connection(tab).getByText('connection lost').waitFor({ timeout: 30_000 });
    expect(Date.now() - stoppedAt).toBeLessThan(26_000);
    await page.locator('.notices').getByText('may have taken it or not').waitFor();
    await approve(other).click();
    await other.locator('.notices').getByText('Not sent: the connection to the web inbox is lost.').waitFor();

    command.signal('SIGCONT');
    for (const tab of [page, other]) await connection(tab).getByText('live', { exact: true }).waitFor();
    // What was sent before may count or not. The page shows which it is; sent again, it counts once.
    const outcome = await until('what became of it', async () => {
      if ((await web().client.view(first.workflowId)).requests.length === 0) return 'taken';
      return (await approve(page).getAttribute('aria-disabled')) === 'false' && 'open';
    });
    if (outcome === 'open') await approve(page).click();
    await first.result();
    expect(await effects.lines('still one')).toHaveLength(1);
    expect((await web().client.view(second.workflowId)).requests).toHaveLength(1);
    await approve(other).click();
    await second.result();
    expect(await effects.lines('still two')).toHaveLength(1);
    await page.context().close();
  });
});

test('a page that stays open goes on through five restarts, a day apart', async () => {
  const token = await web().addUser('dora');
  const page = await web().tab();
  await page.clock.install();
  await page.reload();
  await signOut(page);
  const handles: TurnHandle[] = [];
  for (let restart = 0; restart < 5; restart++) {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await connection(page).getByText('live', { exact: true }).waitFor();
    handles.push(await ask(`restart ${restart}`));
    if (restart === 0) await listOnly(page, AGENT);
    await page.locator('.row', { hasText: `tag=restart ${restart}` }).waitFor();
    await page.clock.fastForward('05:00:00');
    await web().stopServer();
    await page.getByText('connection lost').waitFor();
    await web().startServer();
    await page.getByText('Your session has ended.').waitFor();
  }
  expect(await page.locator('.row', { hasText: 'tag=restart' }).count()).toBe(5);
  await Promise.all(handles.map((handle) => handle.terminate()));
  await page.context().close();
});

test('a list of turns begins again if the server does not know its place any more', async () => {
  const handle = await ask('after an upgrade');
  const page = await web().tab();
  let read = 0;
  await page.route('**/api/turns?*', async (route) => {
    if (route.request().url().includes('older=')) return route.continue();
    const response = await route.fetch();
    read += 1;
    await route.fulfill({ response, json: { ...(await response.json()), older: 'of-an-old-version' } });
  });
  await page.goto(`${web().url}/#/turns`);
  const refused = page.waitForResponse((response) => response.url().includes('older='));
  await page.getByRole('button', { name: 'Show older ones' }).click();
  const refusal = await refused;
  expect(refusal.status()).toBe(400);
  const { message } = z.object({ message: z.string() }).parse(await refusal.json());
  const before = read;
  await until('the first page again', () => read > before);
  await page.locator('.turn-list li').first().waitFor();
  expect(await page.getByText(message).count()).toBe(0);
  await handle.terminate();
  await close(page);
});

test.each([-10, 10])('a clock that is %d minutes wrong changes no deadline and no state', async (minutes) => {
  const handle = await ask(`skewed ${minutes}`);
  const page = await web().tab();
  await page.addInitScript(`{
    const now = Date.now.bind(Date);
    Date = class extends Date {
      constructor(...parts) { super(...(parts.length === 0 ? [now() + ${minutes * 60_000}] : parts)); }
      static now() { return now() + ${minutes * 60_000}; }
    };
  }`);
  await page.reload();
  await listOnly(page, AGENT);
  await page
    .locator('.row', { hasText: `tag=skewed ${minutes}` })
    .getByText(/^in (10:00|[5-9]:\d\d)$/)
    .waitFor();
  await page.goto(`${web().url}/${callPlace(handle.workflowId)}`);
  await lookAtAll(page);
  await approve(page).click();
  await handle.result();
  await connection(page).getByText('live', { exact: true }).waitFor();
  await page.context().close();
});

describe('a place that leads nowhere says so', () => {
  test.each([
    ['#/turns/turn-nope', 'There is no such turn'],
    ['#/turns/turn-nope/calls/1.1', /there is no turn turn-nope/],
    ['#/whatever', 'This page does not exist'],
    ['#/turns/a/b/c', 'This page does not exist'],
  ])('%s', async (place, words) => {
    const page = await web().tab(place);
    await page.getByText(words).waitFor();
    expect(await page.locator('h1').count()).toBeGreaterThanOrEqual(1);
    await page.context().close();
  });
});

test('a turn that has ended is never drawn as one that goes on', async () => {
  const steps = Array.from({ length: 40 }, (_, step) => ({
    toolCalls: [{ name: 'live_look', arguments: { tag: `look ${step}` } }],
  }));
  const prompt = book.add(...steps, { text: 'Done.' });
  const { turn } = await client().start({ agent: AGENT, prompt, taskQueue: fixture().taskQueue });
  await fixture().client.workflow.getHandle(turn).result();
  const page = await web().tab();
  await page.addInitScript(`
    window.drawn = [];
    new MutationObserver(() => {
      const facts = document.querySelector('.turn-facts')?.textContent;
      if (facts !== undefined && window.drawn.at(-1) !== facts) window.drawn.push(facts);
    }).observe(document, { subtree: true, childList: true, characterData: true });
  `);
  await page.goto(`${web().url}/#/turns/${turn}`);
  await page.reload();
  await page.locator('.turn-facts').getByText('answered').waitFor();
  const drawn = await page.evaluate<string[]>('window.drawn');
  expect(drawn.filter((facts) => /running|Cancel/.test(facts))).toEqual([]);
  expect(drawn).toHaveLength(1);
  await page.context().close();
}, 90_000);

test('the list of keys has those of a call in doubt, and closes on Back', async () => {
  const page = await web().tab();
  await page.goto(`${web().url}/#/turns`);
  await page.getByRole('heading', { name: /^Turns/ }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('for a call in doubt').waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  await page.context().close();
});

test.each(['before', 'after'])(
  'an older page that is asked for %s a refresh of the list stays',
  async (when) => {
    const handle = await ask(`older ${when}`);
    const page = await web().tab();
    const refresh = gate();
    await page.route('**/api/turns?*', async (route) => {
      const isOlder = route.request().url().includes('older=');
      const response = await route.fetch({ url: `${web().url}/api/turns?limit=1` });
      const { turns, ...rest } = await response.json();
      const older = turns.map((one: object) => ({ ...one, runId: 'older', prompt: 'an older turn' }));
      if (isOlder && when === 'before') await refresh.opened;
      await route.fulfill({
        json: { ...rest, turns: isOlder ? older : turns, older: isOlder ? null : 'next' },
      });
    });
    await page.goto(`${web().url}/#/turns`);
    const more = page.getByRole('button', { name: 'Show older ones' });
    await more.waitFor();
    if (when === 'before') await more.click();
    const held = await holdFirst(page, /api\/turns\?(?!.*older=)/);
    // A change of the inbox makes the list read again, also if it did so by itself before the answer was held.
    const change = await ask(`changes ${when}`);
    await held.taken;
    refresh.open();
    if (when === 'after') await more.click();
    await page.getByText('an older turn').waitFor();
    await held.release();
    expect(await page.getByText('an older turn').count()).toBe(1);
    await Promise.all([handle, change].map((one) => one.terminate()));
    await page.context().close();
  },
);
