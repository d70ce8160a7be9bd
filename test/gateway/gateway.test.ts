import { z } from 'zod';
import { createGateway, type Gateway } from '../../src/gateway/gateway';
import { scriptedModel } from '../../src/models/scripted';
import { createCallLog } from '../../src/tools/call-log';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { defineTool } from '../../src/tools/define-tool';
import { createSecrets } from '../../src/tools/secrets';

const hold = { first: 5, progress: 10, withProgress: 60, without: 60 };

/** A gateway whose calls are recorded after `startMs`, and never end. */
const slowGateway = (startMs: number): Gateway => {
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays.', safety: 'dangerous', effect: 'unsafe' },
    ...{ parameters: z.object({}), handler: () => 'paid' },
  });
  const agent = defineAgent({
    name: 'gateway',
    instructions: 'Pay.',
    model: scriptedModel([]),
    tools: [pay],
  });
  const config = defineConfig({ agents: [agent] });
  const never = new Promise<never>(() => undefined);
  return createGateway({
    ...{ config, hold, secrets: createSecrets(), rules: {}, recordsAll: false },
    log: createCallLog({ log: () => undefined }),
    tools: {
      ...{ agent, config, offered: () => [], nameOf: (name) => name, close: () => Promise.resolve() },
    },
    backend: {
      begin: () => undefined,
      start: async () => {
        await new Promise((resolve) => setTimeout(resolve, startMs));
        return { id: 'gateway-1', isNamed: false };
      },
      end: () => never,
      stateOf: () => Promise.resolve(undefined),
      cancel: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
  });
};

it('is settled when every call is answered', async () => {
  const gateway = slowGateway(0);
  const signal = new AbortController().signal;
  let isAnswered = false;
  void gateway
    .call({ who: 'ann', name: 'pay', arguments: {}, asTask: false, signal })
    .then(() => (isAnswered = true));
  await gateway.settled();
  expect(isAnswered).toBe(true);
});

it.each([
  ['is recorded at once', 0, true],
  ['takes all that time to be recorded', 100, false],
])('holds a call from its arrival on: one that %s', async (_case, startMs, isHeld) => {
  const heard: unknown[] = [];
  const signal = new AbortController().signal;
  const asked = { who: 'ann', name: 'pay', arguments: {}, asTask: false, signal };
  const answered = await slowGateway(startMs).call({ ...asked, onProgress: (one) => heard.push(one) });
  expect(JSON.stringify(answered)).toContain('Pending');
  expect(heard.length > 0).toBe(isHeld);
});
