import { connect, type Countersign } from '../../src/client';
import type { OpenItem } from '../../src/contract/turn';
import type { ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import type { Tool } from '../../src/tools/types';
import { useEffects, type Effects } from './effects';
import { readBack, scriptBook, type ScriptBook } from './script-book';
import { testAddress } from './server';
import { waitFor } from './turns';
import { startBench, type TestBench, type TurnHandle } from './worker';

/** An agent that follows scripts, with a worker, and what its tools did. */
export interface AgentBench {
  effects: Effects;
  book: ScriptBook;
  bench(): TestBench;
  /** Through which its turns are started, with all that lists and filters go by. */
  client(): Countersign;
  /** Starts a turn that ends with what its tools said, and waits until a call of it is open. */
  start(steps: ScriptedStep[], callId?: string, kind?: OpenItem['kind']): Promise<TurnHandle>;
}

/** One for the test file that calls this. */
export function useAgent(name: string, makeTools: (effects: Effects) => Tool[]): AgentBench {
  const effects = useEffects();
  const book = scriptBook();
  let bench: TestBench;
  let client: Countersign;
  beforeAll(async () => {
    const tools = makeTools(effects);
    bench = await startBench({
      agents: [defineAgent({ name, instructions: 'do', model: book.model, tools })],
    });
    client = await connect({ address: testAddress() });
  });
  afterAll(async () => {
    await client.close();
    await bench.stop();
  });
  const start: AgentBench['start'] = async (steps, callId = '1.1', kind = 'request') => {
    const prompt = book.add(...steps, readBack);
    const { turn } = await client.start({ agent: name, prompt, taskQueue: bench.taskQueue });
    const handle = bench.client.workflow.getHandle(turn);
    await waitFor(handle, callId, kind);
    return handle;
  };
  return { effects, book, start, bench: () => bench, client: () => client };
}
