import type { Page } from 'playwright-core';
import type { Tool } from '../../src/tools/types';
import { useAgent, type AgentFixture } from '../support/agent-fixture';
import type { Effects } from '../support/effects';
import { openWebInbox, type WebInbox } from './web-inbox';

/** An agent, and the true page over it. */
export interface PageFixture extends AgentFixture {
  web(): WebInbox;
}

/**
 * For the test file that calls this: tabs that a test gives it are closed after the test. An open one reads the inbox whenever
 * another test changes it.
 */
export function useTabs(): (page: Page) => Page {
  const tabs: Page[] = [];
  let isTesting = false;
  beforeEach(() => {
    isTesting = true;
  });
  afterEach(async () => {
    isTesting = false;
    await Promise.all(tabs.splice(0).map(close));
  });
  return (page) => {
    if (isTesting) tabs.push(page);
    return page;
  };
}

/**
 * One for the test file that calls this; the agent's name should be of this file alone. `undoMs`: as of the web inbox.
 * `filter`: the requests that it reads.
 */
export function usePage(
  name: string,
  makeTools: (effects: Effects) => Tool[],
  undoMs = 0,
  filter: Parameters<typeof openWebInbox>[4] = { agent: name },
): PageFixture {
  const agent = useAgent(name, makeTools);
  const ofTest = useTabs();
  let web: WebInbox;
  beforeAll(async () => {
    const opened = await openWebInbox(undefined, undoMs, undefined, undefined, filter);
    web = { ...opened, tab: async (...args) => ofTest(await opened.tab(...args)) };
  });
  afterAll(() => web.stop());
  return { ...agent, web: () => web };
}

/** The page of this file never complained: of errors, of what its policy refused, of dialogs. */
export function expectNoComplaints(web: () => WebInbox): void {
  afterEach(() => expect(web().complaints).toEqual([]));
}

/** Closes a tab. A request that the test answers may still be on its way, and would fail after that. */
export async function close(page: Page): Promise<void> {
  if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().close();
}
