import type { Tool } from '../../src/tools/types';
import { useAgent, type AgentBench } from '../support/agent-bench';
import type { Effects } from '../support/effects';
import { testDesk, type AskOptions, type TestDesk } from './support';

/** An agent, and a desk on the same server where `owner` is signed in. */
export interface DeskBench extends AgentBench {
  desk(): TestDesk;
  /** Asks the desk as `owner`, unless the options say otherwise. */
  ask(path: string, options?: AskOptions): Promise<Response>;
}

/** One for the test file that calls this; the agent's name should be of this file alone. */
export function useDeskBench(name: string, makeTools: (effects: Effects) => Tool[]): DeskBench {
  const agent = useAgent(name, makeTools);
  let desk: Awaited<ReturnType<typeof testDesk>>;
  let cookie: string;
  beforeAll(async () => {
    desk = await testDesk(agent.client());
    cookie = await desk.signIn();
  });
  afterAll(async () => {
    desk.close();
    await desk.remove();
  });
  return {
    ...agent,
    desk: () => desk,
    ask: (path, options) => desk.ask(path, { cookie, ...options }),
  };
}
