import type { Tool } from '../../src/tools/types';
import { useAgent, type AgentFixture } from '../support/agent-fixture';
import type { Effects } from '../support/effects';
import { useApp, type AskOptions, type TestApp } from './support';

/** An agent, and a web inbox on the same server where `owner` is signed in. */
export interface AppFixture extends AgentFixture {
  app(): TestApp;
  /** Asks the web inbox as `owner`, unless the options say otherwise. */
  ask(path: string, options?: AskOptions): Promise<Response>;
}

/** One for the test file that calls this; the agent's name should be of this file alone. */
export function useTestApp(name: string, makeTools: (effects: Effects) => Tool[]): AppFixture {
  const agent = useAgent(name, makeTools);
  const { app, cookie } = useApp(agent.client);
  return {
    ...agent,
    app,
    ask: (path, options) => app().ask(path, { cookie: cookie(), ...options }),
  };
}
