import { randomUUID } from 'node:crypto';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import { startOf } from '../../src/contract/turn';
import type { InboxItem } from '../../src/server/api';
import { recordTool } from '../support/effects';
import { decide } from '../support/turns';
import type { Page, Route } from 'playwright-core';
import { listOnly, lookAtAll } from './web-inbox';
import { expectNoComplaints, usePage } from './page-fixture';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';

const AGENT = 'inbox-page';
const { web, start: startTurn } = usePage(AGENT, (effects) => [
  recordTool(effects, { name: 'inbox_soon', safety: 'dangerous', requestExpires: '10m' }),
  recordTool(effects, { name: 'inbox_later', safety: 'dangerous' }),
]);
expectNoComplaints(web);

const start = (name: string, tag: string): Promise<TurnHandle> =>
  startTurn([{ toolCalls: [{ name, arguments: { tag } }] }]);

const PENDING = defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT);

/** A turn that nobody works on, and that waits for one person. */
const startRuled = (summary: string, who: string) => {
  const input = { agent: AGENT, prompt: summary };
  const { typedSearchAttributes, memo, ...head } = startOf(input, summary);
  const voting = { votes: [], needs: { approvals: 1, who: [who] } };
  const about = { callId: '1.1', kind: 'request', tool: 'inbox_later', summary, voting };
  const item = { ...about, since: new Date().toISOString(), deadline: null };
  return web().client.client.workflow.start('agentTurn', {
    ...head,
    ...{ taskQueue: 'nobody-works-here', workflowId: randomUUID(), args: [input] },
    memo: { ...memo, open: { key: 'k', count: 1, items: [item] } },
    typedSearchAttributes: [
      ...typedSearchAttributes.filter(({ key }) => key.name !== PENDING.name),
      { key: PENDING, value: 1 },
    ],
  });
};

/** A tab that lists what this file asks. */
const inbox = async (): Promise<Page> => {
  const page = await web().tab();
  await listOnly(page, AGENT);
  return page;
};

test('what is asked appears, the earliest deadline first, and leaves when it is done; the title counts', async () => {
  const later = await start('inbox_later', 'later');
  const page = await inbox();
  await page.locator('.row', { hasText: 'tag=later' }).waitFor();
  const count = async (): Promise<number> => Number(/^\((\d+)\)/.exec(await page.title())?.[1] ?? 0);
  await until('a count', async () => (await count()) || undefined);
  const soon = await start('inbox_soon', 'soon');
  const row = page.locator('.row', { hasText: 'tag=soon' });
  await row.waitFor();
  await row.getByText(/^in (10:00|[5-9]:\d\d)$/).waitFor();
  // Other tests' requests on this server come and go meanwhile; these two are there in any case.
  await until('a count of both', async () => (await count()) >= 2);
  const texts = await page.locator('.row').allInnerTexts();
  const place = (tag: string): number => texts.findIndex((text) => text.includes(`tag=${tag}`));
  expect(place('soon')).toBeLessThan(place('later'));
  await decide(soon, { callId: '1.1', decision: 'denied', approver: 'ann' });
  await row.waitFor({ state: 'detached' });
  expect(await page.locator('.row', { hasText: 'tag=later' }).count()).toBe(1);
  await decide(later, { callId: '1.1', decision: 'denied', approver: 'ann' });
});

test('filters by tool, agent and age', async () => {
  const handles = [await start('inbox_soon', 'filter one'), await start('inbox_later', 'filter two')];
  const page = await inbox();
  const tool = page.getByLabel('Tool', { exact: true });
  // Only these two tools are this file's own: the list may be long with other tests' requests.
  await until('both tools', async () => {
    const names = await tool.locator('option').allInnerTexts();
    return ['inbox_soon', 'inbox_later'].every((name) => names.some((text) => text.startsWith(name)));
  });
  await tool.selectOption('inbox_soon');
  await until('one', async () => (await page.locator('.row').count()) === 1);
  expect(await page.locator('.row').innerText()).toContain('filter one');
  await page.getByLabel('Age', { exact: true }).selectOption('over 1 h');
  await page.getByText('Nothing fits the filter.').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await tool.selectOption('inbox_later');
  await page.locator('.row', { hasText: 'filter two' }).waitFor();
  // Cleared, the list had both; it takes a moment to follow the filter.
  await page.locator('.row', { hasText: 'filter one' }).waitFor({ state: 'detached' });
  await Promise.all(handles.map((handle) => handle.terminate()));
});

test.each([
  ['does not answer', (route: Route) => route.abort()],
  [
    'answers with an error',
    (route: Route) => route.fulfill({ status: 503, json: { code: 'server_unreachable' } }),
  ],
])('reads a list again and again while the web inbox %s', async (_, answer) => {
  const handles = [await start('inbox_soon', 'once soon'), await start('inbox_later', 'once later')];
  const page = await inbox();
  await page.locator('.row', { hasText: 'once later' }).waitFor();
  const isFiltered = (url: URL): boolean => url.searchParams.get('tool') === 'inbox_soon';
  // Something in the inbox may change meanwhile, and then the page reads anyway, but not so often.
  await page.route(isFiltered, answer, { times: 5 });
  await page.getByLabel('Tool', { exact: true }).selectOption('inbox_soon');
  await page.locator('.row', { hasText: 'once later' }).waitFor({ state: 'detached' });
  await page.locator('.row', { hasText: 'once soon' }).waitFor();
  await Promise.all(handles.map((handle) => handle.terminate()));
});

test('shows by a button what the user may decide alone, as its address says, and all again', async () => {
  const handles = [await startRuled('mine one', 'owner'), await startRuled('of others', 'somebody')];
  const page = await inbox();
  const [own, others] = ['mine one', 'of others'].map((text) => page.locator('.row', { hasText: text }));
  await own?.waitFor();
  await others?.waitFor();
  const mine = page.getByRole('button', { name: 'Mine', exact: true });
  expect(await mine.getAttribute('aria-pressed')).toBe('false');
  await mine.focus();
  await page.keyboard.press('Enter');
  await others?.waitFor({ state: 'detached' });
  expect([await own?.count(), await mine.getAttribute('aria-pressed')]).toEqual([1, 'true']);
  expect(page.url()).toContain('mine=1');
  await page.reload();
  await own?.waitFor();
  expect([await others?.count(), await mine.getAttribute('aria-pressed')]).toEqual([0, 'true']);
  await mine.click();
  await others?.waitFor();
  expect(page.url()).not.toContain('mine=1');
  await Promise.all(handles.map((handle) => handle.terminate()));
});

test('after a decision the next one is open', async () => {
  const handles = [await start('inbox_soon', 'next one'), await start('inbox_soon', 'next two')];
  const page = await inbox();
  await page.locator('.row', { hasText: 'next two' }).waitFor();
  await page.locator('.row', { hasText: 'next one' }).getByRole('link').click();
  await page.locator('.detail-pane').getByText('next one').first().waitFor();
  await lookAtAll(page);
  await page.getByLabel('Reason').fill('no');
  await page.getByRole('button', { name: /^Deny/ }).click();
  await page.locator('.detail-pane').getByText('next two').first().waitFor();
  expect(await page.getByLabel('Reason').inputValue()).toBe('');
  await handles[1]?.terminate();
});

test('a second click does not approve the request that comes next', async () => {
  const handles = [await start('inbox_soon', 'click one'), await start('inbox_soon', 'click two')];
  const page = await inbox();
  await page.locator('.row', { hasText: 'click two' }).waitFor();
  await page.locator('.row', { hasText: 'click one' }).getByRole('link').click();
  await page.locator('.detail-pane').getByText('click one').first().waitFor();
  await lookAtAll(page);
  const box = await page.locator('#approve').boundingBox();
  if (box === null) throw new Error('the button is in sight');
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let click = 0; click < 6; click++)
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator('.detail-pane').getByText('click two').first().waitFor();
  for (let click = 0; click < 3; click++)
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  expect((await web().client.view(handles[1]?.workflowId ?? '')).requests).toHaveLength(1);
  await handles[1]?.terminate();
});

test('eight tabs of one browser share one stream, and go on when the one that has it is closed', async () => {
  const first = await web().tab();
  const others = await Promise.all(Array.from({ length: 7 }, () => first.context().newPage()));
  await Promise.all(others.map((page) => page.goto(web().url)));
  const handles = [await start('inbox_soon', 'for all tabs')];
  for (const page of [first, ...others]) await listOnly(page, AGENT);
  for (const page of [first, ...others]) await page.locator('.row', { hasText: 'for all tabs' }).waitFor();
  await first.close();
  handles.push(await start('inbox_soon', 'for those left'));
  for (const page of others) await page.locator('.row', { hasText: 'for those left' }).waitFor();
  await Promise.all(handles.map((handle) => handle.terminate()));
});

/** Answers for ten thousand requests in place of the server, sorted and searched as it would. */
async function fakeTenThousand(page: Page, asked: URLSearchParams[]): Promise<void> {
  const all = Array.from({ length: 10_000 }, (_, n): InboxItem => ({
    ...{ turn: `t-${n}`, callId: '1.1', callKey: 'k', tool: 'pay', agent: 'a', prompt: 'p' },
    ...{ kind: n < 2 ? 'in_doubt' : 'request', summary: `1.1 pay n=${n}`, since: new Date(0).toISOString() },
    deadline: new Date(Date.now() + 3_600_000 + n * 1_000).toISOString(),
  }));
  const totals = { waiting: all.length, doubts: 2, complete: true, at: new Date().toISOString() };
  const body = `retry: 3600000\nevent: waiting\ndata: ${JSON.stringify({ ...totals, version: 'v' })}\n\n`;
  await page.route('**/api/inbox/events', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body }),
  );
  await page.route('**/api/inbox?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    asked.push(query);
    const offset = Number(query.get('offset'));
    const found = all.filter(
      ({ summary, kind }) =>
        summary.includes(query.get('text') ?? '') && (query.get('doubt') === null || kind === 'in_doubt'),
    );
    const rows = found.slice(offset, offset + Number(query.get('limit')));
    const counts = { tools: [{ name: 'pay', count: 10_000 }], agents: [{ name: 'a', count: 10_000 }] };
    return route.fulfill({
      json: { ...totals, ...counts, rows, matching: found.length, key: String(query) },
    });
  });
}

test('of ten thousand lines it draws a screenful, and every one can be reached', async () => {
  const page = await web().tab();
  const asked: URLSearchParams[] = [];
  await fakeTenThousand(page, asked);
  await page.reload();
  await page.getByText('n=0', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Inbox 10,000' }).waitFor();
  expect(await page.locator('.row').count()).toBeLessThan(50);
  await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight));
  await page.getByText('n=9999', { exact: true }).waitFor();
  expect(await page.locator('.row').count()).toBeLessThan(50);
  expect(await page.locator('.row').last().getAttribute('aria-posinset')).toBe('10000');
  expect(asked.every((query) => Number(query.get('limit')) <= 200)).toBe(true);
  await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, 0));
  await page.getByText('n=0', { exact: true }).waitFor();
  for (let row = 0; row < 30; row++) await page.keyboard.press('j');
  await page.locator('.row a[aria-current]', { hasText: 'n=29' }).waitFor();
  await page.context().close();
});

test('the search and the filters are in the address, and stay on Back and through other screens', async () => {
  const page = await web().tab();
  await fakeTenThousand(page, []);
  await page.reload();
  await page.getByText('n=0', { exact: true }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('n=77');
  await page.getByRole('heading', { name: /^Inbox 111 of 10,000/ }).waitFor();
  await page.getByLabel('Order').selectOption('newest');
  await until('the address', () => page.url().endsWith('#/?text=n%3D77&sort=newest'));
  await page.locator('.row a').first().click();
  await until('the address', () => /calls\/1\.1\?text=n%3D77&sort=newest$/.test(page.url()));
  await page.getByRole('link', { name: 'Turns' }).click();
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
  await page.goBack();
  await page.goBack();
  await until('the address', () => page.url().endsWith('#/?text=n%3D77&sort=newest'));
  expect(await page.getByLabel('Search the inbox').inputValue()).toBe('n=77');
  await page.getByRole('link', { name: 'Stats' }).click();
  await page.getByRole('link', { name: /^Inbox/ }).click();
  await page.getByRole('heading', { name: /^Inbox 111 of 10,000/ }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: /^Inbox 111 of 10,000/ }).waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByRole('button', { name: /^In doubt 2/ }).click();
  await page.getByRole('heading', { name: /^Inbox 2 of 10,000/ }).waitFor();
  expect(await page.locator('.row .chip').allInnerTexts()).toEqual(['in doubt', 'in doubt']);
  await page.context().close();
});
