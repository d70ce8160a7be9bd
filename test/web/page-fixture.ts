import type { Tool } from '../../src/tools/types';
import { useAgent, type AgentFixture } from '../support/agent-fixture';
import type { Effects } from '../support/effects';
import { openWebInbox, type WebInbox } from './web-inbox';

/** An agent, and the true page over it. */
export interface PageFixture extends AgentFixture {
  web(): WebInbox;
}

/** One for the test file that calls this; the agent's name should be of this file alone. `undoMs`: as of the web inbox. */
export function usePage(name: string, makeTools: (effects: Effects) => Tool[], undoMs = 0): PageFixture {
  const agent = useAgent(name, makeTools);
  let web: WebInbox;
  beforeAll(async () => {
    web = await openWebInbox(undefined, undoMs);
  });
  afterAll(() => web.stop());
  return { ...agent, web: () => web };
}

/** The page of this file never complained: of errors, of what its policy refused, of dialogs. */
export function expectNoComplaints(web: () => WebInbox): void {
  afterEach(() => expect(web().complaints).toEqual([]));
}
