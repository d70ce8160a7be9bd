import type { Countersign } from '../../src/client';
import type { OpenItem } from '../../src/contract/turn';
import type { ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import type { Tool } from '../../src/tools/types';
import { useEffects, type Effects } from '../support/effects';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { startBench, type TestBench, type TurnHandle } from '../support/worker';
import { testClient, testDesk, type AskOptions, type TestDesk } from './support';

/** An agent that follows scripts, and a desk on the same server where `owner` is signed in. */
export interface DeskBench {
  effects: Effects;
  bench(): TestBench;
  client(): Countersign;
  desk(): TestDesk;
  /** Asks the desk as `owner`, unless the options say otherwise. */
  ask(path: string, options?: AskOptions): Promise<Response>;
  /** Starts a turn that ends with what its tools said, and waits until a call of it is open. */
  start(steps: ScriptedStep[], callId?: string, kind?: OpenItem['kind']): Promise<TurnHandle>;
}

/** One for the test file that calls this; the agent's name should be of this file alone. */
export function useDeskBench(agent: string, makeTools: (effects: Effects) => Tool[]): DeskBench {
  const effects = useEffects();
  const book = scriptBook();
  let bench: TestBench;
  let client: Countersign;
  let desk: Awaited<ReturnType<typeof testDesk>>;
  let cookie: string;

  beforeAll(async () => {
    const tools = makeTools(effects);
    bench = await startBench({
      agents: [defineAgent({ name: agent, instructions: 'do', model: book.model, tools })],
    });
    client = await testClient(testAddress());
    desk = await testDesk(client);
    cookie = await desk.signIn();
  });

  afterAll(async () => {
    desk.close();
    await desk.remove();
    await client.close();
    await bench.stop();
  });

  const start: DeskBench['start'] = async (steps, callId = '1.1', kind = 'request') => {
    const prompt = book.add(...steps, readBack);
    const { turn } = await client.start({ agent, prompt, taskQueue: bench.taskQueue });
    const handle = bench.client.workflow.getHandle(turn);
    await waitFor(handle, callId, kind);
    return handle;
  };

  return {
    ...{ effects, start, bench: () => bench, client: () => client, desk: () => desk },
    ask: (path, options) => desk.ask(path, { cookie, ...options }),
  };
}
