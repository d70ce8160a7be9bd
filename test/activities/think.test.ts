import { MockActivityEnvironment } from '@temporalio/testing';
import { think } from '../../src/activities/think';
import type { ThinkOutput } from '../../src/contract/think';
import { scriptedModel, type ScriptedReply } from '../../src/models/scripted';
import { defineTool } from '../../src/tools/define-tool';
import { workerWith } from './fake-worker';

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
  const deps = workerWith({ model: scriptedModel([reply]), tools: [tool] });
  const input = { agent: 'a', step: 1, words: ['go'], results: [], droppedBefore: 0 };
  const environment = new MockActivityEnvironment({}, { logger: deps.log });
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
