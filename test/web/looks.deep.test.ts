import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { JsonObject } from '../../src/contract/json';
import type { ScriptedReply } from '../../src/models/scripted';
import { recordTool } from '../support/effects';
import { planTool } from '../support/plan-tool';
import { contrastsIn, unnamedIn } from './accessible';
import { callPlace, talkPlace, type WebInbox, openAccount, signOut } from './web-inbox';
import { expectNoComplaints, usePage } from './page-fixture';

const places: Record<string, string> = {
  inbox: '#/',
  turns: '#/turns',
  conversations: '#/conversations?agent=looks',
};
const { web, start, book, fixture, client } = usePage('looks', (effects) => [
  recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  planTool(effects),
]);
expectNoComplaints(web);

beforeAll(async () => {
  const waiting = async (name: string, args: JsonObject): Promise<string> =>
    (await start([{ text: 'I do it.', toolCalls: [{ name, arguments: args }] }])).workflowId;
  const paid = await waiting('pay', { tag: `${'long'.repeat(60)} \u202e ${'x'.repeat(300)}`, amount: 10 });
  const lines = ['one '.repeat(60), 'x'.repeat(300), 'а'.repeat(3)];
  places['request'] = callPlace(paid);
  places['hunks'] = callPlace(await waiting('propose_lines', { tag: 'looks', lines }));
  places['turn'] = `#/turns/${paid}`;
  const long = `${'long'.repeat(60)} \u202e ${'x'.repeat(300)}`;
  places['conversation'] = await talk({ text: long });
  const args = { tag: long, lines };
  places['asks'] = await talk({ text: long, toolCalls: [{ name: 'propose_lines', arguments: args }] });
});

/** A conversation that begins with this reply; its messages and who sent them are long, too. */
async function talk(step: ScriptedReply): Promise<string> {
  const session = client().session(`looks-${randomUUID()}`, {
    agent: 'looks',
    taskQueue: fixture().taskQueue,
  });
  await session.send({ text: book.add(step), sender: 'ann '.repeat(40) });
  await session.pause();
  await session.send({ text: 'x'.repeat(300), mode: 'steer', sender: 'y'.repeat(150) });
  return talkPlace(session.id);
}

/** What a screen shows once all that a test reads is there. */
const LANDMARKS: Record<string, string> = {
  ...{ inbox: '.row', turns: '.turn-list li', turn: '.picture-row' },
  ...{ conversations: '.turn-list li', conversation: '.said.answer', asks: '.asked .grant-offer' },
  // The offer of a grant is a script of its own, which comes last.
  ...{ request: '.grant-offer', hunks: '.grant-offer' },
};

const open = async (place: string, options: Parameters<WebInbox['tab']>[1]): Promise<Page> => {
  const page = await web().tab(places[place], options);
  await page
    .locator(LANDMARKS[place] ?? '.detail-pane')
    .first()
    .waitFor();
  if (place === 'request' || place === 'asks') await page.getByRole('button', { name: /^Change/ }).click();
  return page;
};

const PLACES = ['inbox', 'request', 'hunks', 'turns', 'turn', 'conversations', 'conversation', 'asks'];

test.each(PLACES)('%s needs no scrolling to the side, however wide it is', async (place) => {
  const page = await open(place, { viewport: { width: 1440, height: 844 } });
  for (const width of [1440, 1151, 1001, 820, 390]) {
    await page.setViewportSize({ width, height: 844 });
    const wider = await page.evaluate<string[]>(`
      [document.documentElement, ...document.querySelectorAll('main, main *')]
        .filter((element) => element.scrollWidth > element.clientWidth + 1)
        .filter((element) => !['hidden', 'clip'].includes(getComputedStyle(element).overflowX) && getComputedStyle(element).display !== 'inline')
        .map((element) => element.outerHTML.slice(0, 120))
    `);
    expect({ width, wider }).toEqual({ width, wider: [] });
  }
  await page.context().close();
});

const THEMES = ['light', 'dark'] as const;

test.each(PLACES)('%s can be read in light and in dark: every text holds 4.5:1', async (place) => {
  const page = await open(place, { colorScheme: 'light', reducedMotion: 'reduce' });
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect({ colorScheme, found: await contrastsIn(page, 4.5) }).toEqual({ colorScheme, found: [] });
  }
  await page.context().close();
});

test('the sign-in can be read in light and in dark', async () => {
  const page = await web().tab('#/', { colorScheme: 'light', reducedMotion: 'reduce' });
  await signOut(page);
  await page.getByLabel('Token').waitFor();
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect({ colorScheme, found: await contrastsIn(page, 4.5) }).toEqual({ colorScheme, found: [] });
  }
  expect(await unnamedIn(page)).toEqual([]);
  await page.context().close();
});

test('the switch overrides the system, and stays', async () => {
  const page = await web().tab('#/', { colorScheme: 'light' });
  const ground = (): Promise<string> =>
    page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const light = await ground();
  await openAccount(page);
  const theme = page.getByRole('button', { name: /^Theme/ });
  await theme.click();
  await page.locator('html[data-theme=light]').waitFor();
  expect(await ground()).toBe(light);
  await theme.click();
  await page.locator('html[data-theme=dark]').waitFor();
  expect(await ground()).not.toBe(light);
  await page.reload();
  await page.locator('html[data-theme=dark]').waitFor();
  expect(await ground()).not.toBe(light);
});

test.each(PLACES)('on a phone a finger finds everything of %s, and no field makes it zoom', async (place) => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const page = await open(place, phone);
  const small = await page.evaluate<string[]>(`
    [...document.querySelectorAll('button, select, textarea, summary, .header a, .crumbs a, .asked-head a, .turn-row, .turn-list a, .picture-row, label:has(> input)')]
      .filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 43.5)
      .map((element) => element.outerHTML.slice(0, 120))
  `);
  expect(small).toEqual([]);
  const sizes = await page.evaluate<number[]>(`
    [...document.querySelectorAll('input:not([type=checkbox], [type=radio], [type=range]), select, textarea')]
      .map((element) => parseFloat(getComputedStyle(element).fontSize))
  `);
  expect(sizes.filter((size) => size < 16)).toEqual([]);
  expect(await page.locator('kbd:visible').count()).toBe(0);
  await page.getByRole('button', { name: 'Signed in as owner' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.context().close();
});

test.each(['hunks', 'asks'])(
  'at 400 %% zoom the header is whole, and most of %s can be read',
  async (place) => {
    const page = await open(place, { viewport: { width: 320, height: 256 } });
    const [header = 0, bar = 0, cut = 0] = await page.evaluate<number[]>(`
    [...['.header', '.decision-bar'].map((name) => document.querySelector(name).getBoundingClientRect().height),
      document.querySelector('.header').scrollWidth - innerWidth]
  `);
    expect(header).toBeLessThanOrEqual(52);
    expect(bar).toBeLessThanOrEqual(90);
    expect(cut).toBeLessThanOrEqual(0);
    await page.context().close();
  },
);

test('forced colours show the chosen row and a disabled button', async () => {
  const page = await open('hunks', { forcedColors: 'active' });
  await page.locator('.row a[aria-current]').first().waitFor();
  const styles = (name: string, property: string): Promise<string[]> =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('${name}')].map((element) => getComputedStyle(element).${property})`,
    );
  expect(await styles('.row a[aria-current]', 'outlineStyle')).toEqual(['solid']);
  expect(await styles('.row a:not([aria-current])', 'outlineStyle')).not.toContain('solid');
  expect(await styles('#approve', 'borderStyle')).toEqual(['dashed']);
  await page.context().close();
});

test('forced colours tell what a person said from what the agent said', async () => {
  const page = await open('conversation', { forcedColors: 'active' });
  const edges = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.said')].map((element) => getComputedStyle(element).borderStyle)`,
  );
  expect(new Set(edges)).toEqual(new Set(['solid']));
  await page.context().close();
});

describe('for a screen reader', () => {
  test.each(PLACES)('%s has landmarks, one heading above all, and a name on everything', async (place) => {
    const page = await open(place, {});
    for (const role of ['banner', 'main', 'navigation'] as const)
      expect(await page.getByRole(role).count()).toBe(1);
    expect(await page.locator('h1').count()).toBe(1);
    expect(await unnamedIn(page)).toEqual([]);
    const ids = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    await page.context().close();
  });

  test('a request shows its parts in the order in which a person judges them', async () => {
    const page = await open('hunks', {});
    const tree = await page.locator('.detail-pane').ariaSnapshot();
    const order = [
      'heading "propose_lines',
      'What it does',
      'Hunk 1',
      'Arguments',
      'The user asked',
      'The model says',
      'button "Approve and allow more',
      'Reason',
      'button "Deny',
      'button "Approve',
    ];
    let from = 0;
    const found = order.filter((part) => {
      const at = tree.indexOf(part, from);
      from = Math.max(from, at);
      return at >= 0;
    });
    expect(found).toEqual(order);
  });

  test('the first stop of the keyboard leads to the content', async () => {
    const page = await open('inbox', {});
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.locator('main:focus').count()).toBe(1);
  });

  test('on a phone the focus goes with what is opened, and back', async () => {
    const page = await open('inbox', { viewport: { width: 390, height: 844 } });
    await page.locator('.row a').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.call-title:focus').waitFor();
    await page.getByRole('button', { name: 'Back to the inbox' }).click();
    await page.locator('.row').first().waitFor();
  });
});
