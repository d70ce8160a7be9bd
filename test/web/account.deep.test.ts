import type { Page } from 'playwright-core';
import { unnamedIn } from './accessible';
import { expectNoComplaints } from './page-fixture';
import { openAccount, openWebInbox, signOut, VIEWER, type WebInbox } from './web-inbox';

let web: WebInbox;
const people = [
  { name: 'owner', groups: ['finance', 'раypal'], delegates: [] },
  { name: VIEWER, groups: [], delegates: [] },
];

beforeAll(async () => {
  const personOf = (name: string) => people.find((one) => one.name === name)?.name;
  web = await openWebInbox(undefined, 0, undefined, async () => ({ people, personOf }));
});
afterAll(() => web.stop());
expectNoComplaints(() => web);

const menu = (page: Page) => page.getByRole('group', { name: 'Your account' });
const opener = (page: Page) => page.getByRole('button', { name: 'Signed in as' });
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''");

/** Role and groups, in words, as a person reads them. */
const factsIn = async (page: Page): Promise<string[]> => {
  const facts = await menu(page).locator('.facts > div').allInnerTexts();
  return facts.map((one) => one.replace(/\s+/g, ' '));
};

test('it says who is signed in, with role and groups as the server knows them today', async () => {
  const page = await web.tab();
  await openAccount(page);
  expect(await factsIn(page)).toEqual([
    'Signed in as owner',
    'Role admin',
    'Groups finance, ⟦ра Cyrillic⟧ypal',
  ]);
  expect(await unnamedIn(page)).toEqual([]);
  const [, other] = people;
  other?.groups.push('interns');
  const token = await web.addUser(VIEWER);
  await menu(page).getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByText('You may only look').waitFor();
  await openAccount(page);
  expect(await factsIn(page)).toEqual([
    `Signed in as ${VIEWER}`,
    'Role viewer: may only look',
    'Groups interns',
  ]);
  // The file changes, and the menu says so when it opens again.
  await page.keyboard.press('Escape');
  other?.groups.push('auditors');
  await openAccount(page);
  await menu(page).getByText('interns, auditors').waitFor();
  await page.context().close();
});

test('it works by keyboard: its links follow the button, and Escape leads back', async () => {
  const page = await web.tab();
  await opener(page).focus();
  await page.keyboard.press('Enter');
  await menu(page).getByRole('link', { name: 'Decided by you' }).waitFor();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Decided by you');
  await page.keyboard.press('Escape');
  await menu(page).waitFor({ state: 'hidden' });
  expect(await focused(page)).toContain('owner');
  await page.keyboard.press('Enter');
  await menu(page).getByRole('button', { name: 'Keys' }).press('Enter');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await menu(page).waitFor({ state: 'hidden' });
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
  expect(await focused(page)).toContain('owner');
  await page.keyboard.press('Enter');
  await menu(page).getByRole('link', { name: 'Grants' }).press('Enter');
  await page.getByRole('heading', { name: 'Grants' }).waitFor();
  await menu(page).waitFor({ state: 'hidden' });
  await page.context().close();
});

/** Where everything in the header stands that one presses, and what stands beside it. */
const placed = (page: Page): Promise<unknown> =>
  page.evaluate(`[...document.querySelectorAll('.header > :not(.account), .header nav a')]
    .map((one) => one.getBoundingClientRect()).map(({ left, top, width }) => [left, top, width])`);

test.each([1440, 1001, 390])('its script comes late, and nothing moves then: %i px', async (width) => {
  const page = await web.tab(undefined, { viewport: { width, height: 844 } });
  let go: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  await page.route('**/account.js', async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  await page.locator('.connection.live').waitFor();
  const before = await placed(page);
  await opener(page).click();
  await menu(page).getByText('Opening …').waitFor();
  go();
  await menu(page).getByRole('button', { name: 'Sign out' }).waitFor();
  expect(await placed(page)).toEqual(before);
  const box = await menu(page).boundingBox();
  expect(box === null ? width + 1 : box.x + box.width).toBeLessThanOrEqual(width);
  await page.context().close();
});

test('nothing in the header moves when the connection is lost, and its words are in sight', async () => {
  const page = await web.tab();
  await page.locator('.connection.live').waitFor();
  const looks = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (const width of [1440, 1001, 390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      found.push({ width, placed: await placed(page) });
    }
    return found;
  };
  const before = await looks();
  await web.stopServer();
  const words = page.getByText('connection lost, trying again');
  await words.waitFor();
  expect(await looks()).toEqual(before);
  const { x = -1, width = 0 } = (await words.boundingBox()) ?? {};
  expect(x).toBeGreaterThanOrEqual(0);
  expect(x + width).toBeLessThanOrEqual(320);
  await web.startServer();
  await page.context().close();
});

test('signing out by it leads to the sign-in', async () => {
  const page = await web.tab();
  await signOut(page);
  await page.getByLabel('Token').waitFor();
  await page.context().close();
});
