import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createJournal } from '../../src/activities/journal';
import { createMemory } from '../../src/activities/conversation';
import { think } from '../../src/activities/think';
import type { ThinkOutput } from '../../src/contract/think';
import { scriptedModel, type ScriptedReply } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';

const logger = new DefaultLogger('ERROR');

/** One step of an agent that is asked for this. */
function step(reply: ScriptedReply, preview: () => string) {
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    safety: 'dangerous',
    preview,
    handler: () => 'paid',
  });
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel([reply]), tools: [tool] });
  const deps = {
    agents: new Map([['a', agent]]),
    toolNames: new Set(['pay']),
    taskQueue: 'q',
    holderQueue: 'countersign-worker:1@here:1',
    agentWaitMs: 0,
    pricing: { currency: 'EUR', prices: {} },
    run: {},
    memory: createMemory(),
    journal: createJournal('/nonexistent'),
    log: logger,
  };
  const input = { agent: 'a', step: 1, words: ['go'], results: [], droppedBefore: 0 };
  const environment = new MockActivityEnvironment({}, { logger });
  return new Promise<ThinkOutput>((resolve, reject) => {
    environment.run(() => think(deps, input).then(resolve)).catch(reject);
  });
}

it('makes 64 previews for 1,000 calls', async () => {
  let made = 0;
  const toolCalls = Array.from({ length: 1000 }, (_, n) => ({ name: 'pay', arguments: { n } }));
  const { calls } = await step({ toolCalls }, () => `preview ${++made}`);
  expect(made).toBe(64);
  expect(calls.map(({ kind }) => kind)).toEqual([...Array(64).fill('ask'), ...Array(936).fill('invalid')]);
});

it('cuts the ids of a model, and keeps them unique', async () => {
  const toolCalls = [1, 2].map((n) => ({ id: 'x'.repeat(1_000_000) + n, name: 'pay', arguments: { n } }));
  const { calls } = await step({ toolCalls }, () => 'preview');
  expect(calls.map(({ id }) => id)).toEqual(['x'.repeat(200), 'call_2']);
});
