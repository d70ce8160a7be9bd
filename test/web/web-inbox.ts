import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { connect, type Countersign } from '../../src/client';
import { defined } from '../../src/contract/defined';
import { EVERYTHING, type Permit } from '../../src/authority/rules/permits';
import type { SendText } from '../../src/contract/streamed-text';
import type { Right } from '../../src/server/api';
import { createUsers } from '../../src/server/auth/users';
import { startWeb, type RunningWeb, type WebOptions } from '../../src/server';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { testAddress } from '../support/server';
import { until } from '../support/until';

/** Users of this name may only look. */
export const VIEWER = 'viewer';

const permitOf = (name: string): Permit => (name === VIEWER ? { role: 'viewer', agents: 'all' } : EVERYTHING);

/** The true page on the true server, and a browser that shows it. */
export interface WebInbox {
  client: Countersign;
  url: string;
  /** A tab of a browser of its own, signed in as `owner`, at a place such as `#/turns`. */
  tab(place?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Gives somebody a token. */
  addUser(name: string, rights?: readonly Right[]): Promise<string>;
  /** Takes what models write from workers of the test's process. */
  takeText: SendText;
  /** Ends the server; every session ends with it. */
  stopServer(): Promise<void>;
  /** Starts it again where it was. */
  startServer(): Promise<void>;
  /** What the pages had to complain about: errors, refused by policy, dialogs. */
  complaints: string[];
  stop(): Promise<void>;
}

/**
 * Opens a web inbox, on the server of this test run unless another is named. A decision is sent at once unless a test
 * wants to undo it. `files`: the store of files; empty: none. `voters`: the people of the approvers file; there is none unless set.
 * `filter`: it reads these requests alone. The server of a test run has many more turns, and each change of one is read.
 */
export async function openWebInbox(
  address = testAddress(),
  undoMs = 0,
  files: string | undefined = undefined,
  voters: WebOptions['voters'] = undefined,
  filter: Parameters<Countersign['inboxReader']>[0] = {},
): Promise<WebInbox> {
  ensureBuilt();
  const directory = await mkdtemp(join(tmpdir(), 'countersign-web-'));
  const usersFile = join(directory, 'users.json');
  const client = await connect({ address, files: files ?? join(directory, 'files') });
  const filtered: Countersign = Object.create(client, {
    inboxReader: { value: () => client.inboxReader(filter) },
  });
  const browser = await openBrowser();
  const complaints: string[] = [];
  const start = (port: number): Promise<RunningWeb> =>
    startWeb({
      ...{
        client: filtered,
        usersFile,
        port,
        undoMs,
        localUser: 'owner',
        version: '1.2.3',
        pageDir: lib('web'),
      },
      refusalsFile: join(directory, 'refusals.jsonl'),
      people: async () => ({ permitOf }),
      ...defined({ voters }),
      onLink: () => undefined,
      report: (error) => void complaints.push(String(error)),
    });
  let web = await start(0);
  const { url } = web;
  return {
    ...{ client, url, complaints },
    tab: (place, options) => openTab(browser, { web, place, options, complaints }),
    takeText: (pieces) => web.takeText(pieces),
    addUser: (name, rights) => createUsers(usersFile).add(name, rights),
    stopServer: () => web.stop(),
    startServer: async () => {
      web = await start(Number(new URL(url).port));
    },
    stop: async () => {
      await browser.close();
      await web.stop();
      await client.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface TabOptions {
  web: RunningWeb;
  place: string | undefined;
  options: BrowserContextOptions | undefined;
  complaints: string[];
}

async function openTab(browser: Browser, { web, place, options, complaints }: TabOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => void complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const isOurs = !/Failed to load resource|net::ERR/.test(message.text());
    if (message.type() === 'error' && isOurs) complaints.push(`console: ${message.text()}`);
  });
  await page.goto(web.drawLink() ?? web.url);
  await page.getByRole('heading', { name: /^Inbox/ }).waitFor();
  if (place !== undefined) await page.goto(`${web.url}/${place}`);
  return page;
}

/** Lists what one agent asks alone: the server of a test run has many more requests, and a page draws what is in sight. */
export async function listOnly(page: Page, agent: string): Promise<void> {
  await page.getByLabel('Agent', { exact: true }).selectOption(agent);
}

/** Opens the account menu; what stands in it comes late. */
export async function openAccount(page: Page): Promise<void> {
  await page.locator('.account-opener').click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Gives a page one more style, which its policy lets only a script do. */
export async function styled(page: Page, css: string): Promise<void> {
  await page.evaluate(`(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(${JSON.stringify(css)});
    document.adoptedStyleSheets = [sheet];
  })()`);
}

/** Signs out by the account menu. */
export async function signOut(page: Page): Promise<void> {
  await openAccount(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
}

/** Where a call is on the page. */
export const callPlace = (turn: string, callId = '1.1'): string => `#/turns/${turn}/calls/${callId}`;

/**
 * Goes on until everything was in sight, as a person does: a screen at a time, by the button or by its key. Returns the
 * number of presses.
 */
export async function lookAtAll(page: Page, by: 'button' | 'key' = 'button'): Promise<number> {
  let presses = 0;
  const why = page.locator('#why');
  await page.locator('#approve').waitFor();
  await until('everything to be in sight', async () => {
    const text = await why.innerText();
    // Several requests are read one after the other; until then there is nothing to look at.
    if (/just opened|^Reading/.test(text)) return false;
    if (!/in sight/.test(text)) return true;
    presses += 1;
    if (by === 'key') await page.keyboard.press('n');
    // It may go between a look and a click.
    else await page.evaluate("document.querySelector('.why button')?.click()");
    return false;
  });
  return presses;
}

/** An answer of the server that a test holds back. */
export interface HeldAnswer {
  /** Settles when the server has answered. */
  taken: Promise<void>;
  /** Lets the page have the answer, and waits until the page has drawn it. */
  release(): Promise<void>;
}

/** Holds the answer to the first request for a path back. */
export async function holdFirst(page: Page, path: string | RegExp): Promise<HeldAnswer> {
  const [held, taken] = [gate(), gate()];
  const handled = gate();
  await page.route(
    path,
    async (route) => {
      const response = await route.fetch();
      taken.open();
      await held.opened;
      await route.fulfill({ response });
      handled.open();
    },
    { times: 1 },
  );
  return {
    taken: taken.opened,
    release: async () => {
      held.open();
      await handled.opened;
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    },
  };
}

/** What a test waits for until something opens it. */
export function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open: () => open(), opened };
}

/**
 * Asks, then confirms as a person does who reads in between: a click right after the question does not count. The page
 * has a clock of the test from then on.
 */
export async function confirm(page: Page, ask: () => Promise<void>, act = ask): Promise<void> {
  await page.clock.install();
  await ask();
  await page.clock.fastForward(1_000);
  await act();
}

/** Double clicks low on a button, at its ends and in its middle, which should only ask. `back` takes the question back. */
export async function doubleClick(button: Locator, back: () => Promise<void>): Promise<void> {
  const { width = 0, height = 0 } = (await button.boundingBox()) ?? {};
  for (const x of [5, width / 2, width - 5]) {
    await button.dblclick({ position: { x, y: height * 0.8 } });
    await back();
  }
}

/** Where a conversation is on the page. */
export const talkPlace = (session: string): string => `#/conversations/${session}`;

/** Writes into the composer of a conversation, and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Control+Enter');
}

/** What of a conversation waits for a person, and the panel that is open there. */
export const asksOf = (page: Page) => page.getByRole('region', { name: 'Waits for a person' });
