import type { Tool } from '../../src/tools/types';
import { useAgent, type AgentBench } from '../support/agent-bench';
import type { Effects } from '../support/effects';
import { openDesk, type WebDesk } from './desk';

/** An agent, and the true page over it. */
export interface PageBench extends AgentBench {
  desk(): WebDesk;
}

/** One for the test file that calls this; the agent's name should be of this file alone. */
export function usePage(name: string, makeTools: (effects: Effects) => Tool[]): PageBench {
  const agent = useAgent(name, makeTools);
  let desk: WebDesk;
  beforeAll(async () => {
    desk = await openDesk();
  }, 120_000);
  afterAll(() => desk.stop());
  return { ...agent, desk: () => desk };
}

/** The page of this file never complained: of errors, of what its policy refused, of dialogs. */
export function expectNoComplaints(desk: () => WebDesk): void {
  afterEach(() => expect(desk().complaints).toEqual([]));
}
