import { connect, type Countersign } from '../../src/client';
import type { OpenItem } from '../../src/contract/open-item';
import type { ScriptedStep } from '../../src/models/scripted';
import { defineAgent, type Agent } from '../../src/tools/define-agent';
import type { Tool } from '../../src/tools/types';
import { useEffects, type Effects } from './effects';
import { startFixture, type Fixture, type TurnHandle } from './fixture';
import { readBack, scriptBook, type ScriptBook } from './script-book';
import { testAddress } from './server';
import { waitFor } from './turns';

/** A fixture with one agent that follows scripts, and what its tools did. */
export interface AgentFixture {
  effects: Effects;
  book: ScriptBook;
  agent(): Agent;
  fixture(): Fixture;
  /** Through which its turns are started, with all that lists and filters go by. */
  client(): Countersign;
  /** Starts a turn that ends with what its tools said, and waits until a call of it is open. */
  start(steps: ScriptedStep[], callId?: string, kind?: OpenItem['kind']): Promise<TurnHandle>;
}

/** One for the test file that calls this. */
export function useAgent(name: string, makeTools: (effects: Effects) => Tool[]): AgentFixture {
  const effects = useEffects();
  const book = scriptBook();
  let agent: Agent;
  let fixture: Fixture;
  let client: Countersign;
  beforeAll(async () => {
    agent = defineAgent({ name, instructions: 'do', model: book.model, tools: makeTools(effects) });
    fixture = await startFixture({ agents: [agent] });
    client = await connect({ address: testAddress() });
  });
  afterAll(() => client.close());
  const start: AgentFixture['start'] = async (steps, callId = '1.1', kind = 'request') => {
    const prompt = book.add(...steps, readBack);
    const { turn } = await client.start({ agent: name, prompt, taskQueue: fixture.taskQueue });
    const handle = fixture.client.workflow.getHandle(turn);
    await waitFor(handle, callId, kind);
    return handle;
  };
  return { effects, book, start, agent: () => agent, fixture: () => fixture, client: () => client };
}
