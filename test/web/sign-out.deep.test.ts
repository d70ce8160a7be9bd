import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { connect, type Countersign } from '../../src/client';
import { freePorts } from '../../src/engine/server-args';
import { type RunningWeb, startWeb } from '../../src/server';
import { openBrowser } from '../support/browser';
import { ensureBuilt, lib } from '../support/build';
import { CLIENT, type RunningProvider, startProvider } from '../support/oidc';
import { testAddress } from '../support/server';
import { signOut } from './web-inbox';

const people = parseApprovers(
  `
installation: 0123456789abcdef0123456789abcdef
people: { anna: { mail: anna@example.com } }
rules: [{ name: default, then: by_safety }]
`,
  'approvers.yaml',
);

let directory: string;
let provider: RunningProvider;
let client: Countersign;
let web: RunningWeb;
let browser: Browser;
let url: string;

beforeAll(async () => {
  ensureBuilt();
  directory = await mkdtemp(join(tmpdir(), 'countersign-sign-out-'));
  const [port = 0] = await freePorts(1);
  url = `http://127.0.0.1:${port}/tools/inbox`;
  provider = await startProvider(`${url}/sign-in/done`);
  client = await connect({ address: testAddress() });
  web = await startWeb({
    ...{
      client,
      port,
      basePath: '/tools/inbox',
      undoMs: 0,
      localUser: 'owner',
      version: '1.2.3',
      pageDir: lib('web'),
    },
    usersFile: join(directory, 'users.json'),
    refusalsFile: join(directory, 'refusals.jsonl'),
    signIn: {
      publicUrl: url,
      people: () => Promise.resolve(people),
      access: { mayConverse: [], mayFork: [] },
      oidc: { issuer: provider.issuer, ...CLIENT },
    },
    onLink: () => undefined,
    report: () => undefined,
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await web?.stop();
  await client?.close();
  await provider?.stop();
  await rm(directory, { recursive: true, force: true });
});

const inbox = (page: Page) => page.getByRole('heading', { name: /^Inbox/ });

async function signIn(page: Page): Promise<void> {
  await page.goto(url);
  await page.getByRole('link', { name: 'Sign in with your organization' }).click();
  await page.locator('[name=login]').fill('anna');
  await page.locator('[name=password]').fill('any');
  await page.locator('[type=submit]').click();
  await page.locator('[name=prompt][value=consent] ~ [type=submit]').click();
  await inbox(page).waitFor();
}

const openTab = async (): Promise<Page> => {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(8_000);
  return page;
};

test('signing out leads through the issuer and back, and the issuer asks for the password again', async () => {
  const page = await openTab();
  await signIn(page);
  await signOut(page);
  await page.waitForURL(`${provider.issuer}/**`);
  await page.locator('[name=logout][value=yes]').click();
  await page.waitForURL(`${url}/`);
  await page.getByRole('link', { name: 'Sign in with your organization' }).click();
  await page.locator('[name=login]').waitFor();
});

test('whoever stays at the issuer is signed out here all the same', async () => {
  const page = await openTab();
  await signIn(page);
  await signOut(page);
  await page.waitForURL(`${provider.issuer}/**`);
  await page.goto(url);
  await page.getByLabel('Token').waitFor();
  expect(await inbox(page).isVisible()).toBe(false);
});
