import type { Page } from 'playwright-core';
import { defineTool } from '../../src/tools/define-tool';
import { decide } from '../support/turns';
import { callPlace, lookAtAll, styled } from './web-inbox';
import { usePage } from './page-fixture';
import { HOSTILE_LETTERS } from '../support/hostile-letters';
import { POLYGLOTS } from './polyglots';
import type { TurnHandle } from '../support/fixture';

const { web, start: startTurn } = usePage('hostile', (effects) => [
  defineTool({
    name: 'run_command',
    description: 'Runs a command.',
    safety: 'dangerous',
    parameters: { type: 'object' },
    preview: (args) => String(Object.values(args)[0] ?? ''),
    handler: async (args) => {
      await effects.add('ran');
      return JSON.stringify(args);
    },
  }),
]);

const start = (args: Record<string, string>, text = ''): Promise<TurnHandle> =>
  startTurn([{ text, toolCalls: [{ name: 'run_command', arguments: args }] }]);

const approve = (page: Page) => page.locator('#approve');
const isHeld = async (page: Page) => (await approve(page).getAttribute('aria-disabled')) === 'true';

/** Everything that text could have brought into the page and that we never make. */
const INJECTED =
  'img, iframe, object, embed, video, audio, svg, script:not([src="app.js"]), style, link:not([href="app.css"], [href="manifest.webmanifest"], [href^="icon."]), base, [onerror], [onload], [onclick], a[href^="javascript"], a[href^="data"]';

test(`${POLYGLOTS.length} hostile strings are text wherever they come from`, async () => {
  const args = Object.fromEntries(POLYGLOTS.map((text, index) => [`${index} ${text.slice(0, 40)}`, text]));
  const handle = await start({ command: POLYGLOTS.join('\n'), ...args }, POLYGLOTS.join(' '));
  const page = await web().tab(callPlace(handle.workflowId));
  await lookAtAll(page);
  const shown = await page.locator('.detail-pane').innerText();
  expect(shown).toContain('<script>alert(1)</script>');
  expect(shown).toContain('javascript:alert(1)');
  await page.getByRole('button', { name: /^Change/ }).click();
  expect(await page.locator(INJECTED).count()).toBe(0);
  await decide(handle, {
    callId: '1.1',
    decision: 'approved',
    approver: '<img src=x onerror=alert(1)>',
    reason: POLYGLOTS[0] ?? '',
  });
  await handle.result();
  await page.goto(`${web().url}/#/turns/${handle.workflowId}`);
  await page.getByRole('region', { name: 'Answer' }).waitFor();
  await page.getByRole('button', { name: /1\.1\s+run_command/ }).click();
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  expect(await page.locator(INJECTED).count()).toBe(0);
  await page.goto(`${web().url}/#/turns/${encodeURIComponent('<img src=x onerror=alert(1)>')}`);
  await page.goto(`${web().url}/#/turns/x/calls/${encodeURIComponent('"><script>alert(1)</script>')}`);
  await page.locator('.problem, .notice').first().waitFor();
  expect(await page.locator(INJECTED).count()).toBe(0);
  expect(web().complaints).toEqual([]);
});

test('the page may load nothing from elsewhere and run nothing inline', async () => {
  const page = await web().tab();
  const policy = (await page.request.get(web().url)).headers()['content-security-policy'] ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
  const asked = await page.evaluate<string[]>(
    'performance.getEntriesByType("resource").map(({ name }) => name)',
  );
  expect(asked.filter((name) => !name.startsWith(web().url))).toEqual([]);
});

test.each([
  ['a terminal would obey', 'a\x1b[2J\x07\x9b8m', ['\\x1b', '\\x07', '\\x9b']],
  ['text that is turned around', 'rm \u202etxt.exe\u202c', ['⟦U+202E⟧', '⟦U+202C⟧']],
  ['what does not show', 'a\u200bb\u{e0041}c\ufeff', ['⟦U+200B⟧', '⟦U+E0041⟧', '⟦U+FEFF⟧']],
  ['blanks that push away', `ls${' '.repeat(200)}; rm -rf /`, ['⟦200 blanks⟧']],
  ['letters that pass for others', 'curl https://exаmple.com', ['⟦exаmple.com xn--exmple-4nf.com⟧']],
  ['a carriage return', 'safe\rrm -rf /', ['\\r']],
])('%s is marked, said, and has to be looked at', async (_, command, marks) => {
  const handle = await start({ command });
  const page = await web().tab(callPlace(handle.workflowId));
  const preview = page.getByRole('region', { name: 'What it does' });
  for (const mark of marks) {
    const shown = preview.locator('.mark', { hasText: mark }).first();
    await shown.waitFor();
    expect(await shown.getAttribute('aria-label')).toContain(mark);
    expect(await shown.getAttribute('title')).toContain('U+');
  }
  await lookAtAll(page);
  if (command.includes(' '.repeat(200))) return;
  await page.getByText('Confirm first that you looked at the marked characters.').waitFor();
  expect(await isHeld(page)).toBe(true);
  await page.getByLabel('I looked at the marked characters').check();
  await page.locator('#approve[aria-disabled=false]').waitFor();
});

/** The characters of an element as they stand on the screen: line by line, from left to right. */
const drawn = async (page: Page, selector: string): Promise<string> =>
  page.evaluate<string>(`(() => {
    const walker = document.createTreeWalker(document.querySelector(${JSON.stringify(selector)}), NodeFilter.SHOW_TEXT);
    const chars = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      for (let at = 0; at < node.length; at++) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const { left, bottom, width } = range.getBoundingClientRect();
        if (width > 0 && node.data[at] !== ' ') chars.push({ char: node.data[at], left, bottom });
      }
    }
    const isBelow = (a, b) => (Math.abs(a.bottom - b.bottom) > 8 ? a.bottom - b.bottom : a.left - b.left);
    return chars.sort(isBelow).map(({ char }) => char).join('');
  })()`);

const TURNED = '/data/\u05d0/2024/2019 pay \u05d0\u05d1 100 900 EUR \u0645 123 456';

test('what runs stands in the order in which it runs, and words in that of their language', async () => {
  const handle = await start({ command: TURNED, [TURNED]: 'x' }, `${TURNED}\n\u05d0\u05d1 12 34`);
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('.leaf').first().waitFor();
  const asItRuns = TURNED.replace(/[\u0590-\u06ff]+/g, '⟦$&⟧').replace(/ /g, '');
  expect(await drawn(page, '.preview-text')).toBe(asItRuns);
  expect(await drawn(page, '.leaf dd')).toBe(asItRuns);
  expect(await drawn(page, '.leaf + .leaf dt')).toBe(asItRuns);
  expect(await drawn(page, 'figure.model blockquote')).not.toContain('⟦');
  expect(await drawn(page, 'figure.model blockquote')).toContain('3412\u05d1\u05d0');
  await page.getByText(/9 words written from right to left/).waitFor();
  await page.getByRole('button', { name: /^Change/ }).click();
  const field = await page.evaluate<string>(
    `(({ unicodeBidi, direction }) => unicodeBidi + ' ' + direction)(getComputedStyle(document.querySelector('#edit textarea, #edit input')))`,
  );
  expect(field).toBe('isolate-override ltr');
  expect(await page.locator('#reason').getAttribute('dir')).toBe('auto');
});

const ALIKE = Object.values(HOSTILE_LETTERS).flat();

test(`each of ${ALIKE.length} values that read as others is marked`, async () => {
  const handle = await start(Object.fromEntries(ALIKE.map((text, index) => [`n${index}`, text])));
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('.leaf').first().waitFor();
  // Only what is near is drawn.
  for (const part of await page.locator('.seen-part').all()) await part.scrollIntoViewIfNeeded();
  await page
    .locator('.leaf')
    .nth(ALIKE.length - 1)
    .waitFor();
  const unmarked = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.leaf')].filter((leaf) => leaf.querySelector('dd bdo[dir=ltr] .mark') === null).map((leaf) => leaf.textContent)`,
  );
  expect(unmarked).toEqual([]);
});

test('stacked marks draw over nothing else', async () => {
  const handle = await start({ command: 'e\u0301\u0301\u0301'.repeat(20) });
  const page = await web().tab(callPlace(handle.workflowId));
  const marked = page.locator('.leaf dd .clipped');
  await marked.scrollIntoViewIfNeeded();
  const { x = 0, y = 0, width = 0, height = 0 } = (await marked.boundingBox()) ?? {};
  const beyond = [y - 30, y + height + 4].map((top) => ({ x, y: top, width, height: 26 }));
  const around = (): Promise<Buffer[]> => Promise.all(beyond.map((clip) => page.screenshot({ clip })));
  const shown = await around();
  await styled(page, '.leaf dd .clipped { visibility: hidden }');
  expect(await around()).toEqual(shown);
});

test('blanks at the end of a changed line and a missing line end are marked', async () => {
  const handle = await start({ command: '@@ -1 +1 @@\n-a\n+a  \n\\ No newline at end of file\n' });
  const page = await web().tab(callPlace(handle.workflowId));
  await page.locator('.diff-lines .added .mark', { hasText: '··' }).waitFor();
  await page.locator('.diff-lines').getByText('No newline at end of file').waitFor();
});

test('a long text has to be shown to its end before it can be approved', async () => {
  const lines = Array.from({ length: 900 }, (_, n) => `echo ${n}`);
  const handle = await start({ command: [...lines, 'rm -rf /'].join('\n') });
  const page = await web().tab(callPlace(handle.workflowId));
  await page.getByText(/parts have not been in sight yet/).waitFor();
  expect(await page.locator('.detail-pane').innerText()).toContain('echo 450');
  expect(await isHeld(page)).toBe(true);
  await approve(page).click({ force: true });
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  expect((await web().client.view(handle.workflowId)).requests).toHaveLength(1);
  // Jumping to the end does not show the middle.
  await page.locator('.detail-pane').evaluate((pane) => pane.scrollTo(0, pane.scrollHeight));
  expect(await isHeld(page)).toBe(true);
  await lookAtAll(page);
  expect(await isHeld(page)).toBe(false);
  await approve(page).click();
  await page.locator('.notices').getByText('Approved ').waitFor();
});
