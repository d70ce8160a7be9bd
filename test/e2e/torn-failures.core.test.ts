import { ModelError } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { startFixture, type Fixture } from '../support/fixture';

/** Half a character. A short failure with it is not UTF-8, and the SDK's worker ends when it reads the failure. */
const HALF = '\ud800';

const failures: Record<string, () => unknown> = {
  'an error': () => new Error(HALF),
  'the name of an error': () => Object.assign(new Error('no'), { name: HALF }),
  'a cause': () => new Error('no', { cause: new Error(HALF) }),
  'a thrown text': () => HALF,
  'the error of a model': () => new ModelError('server', HALF, { retryable: true }),
};

const waiting = new Map(Object.entries(failures));
const agent = defineAgent({
  ...{ name: 'torn', instructions: 'do', tools: [] },
  model: {
    id: 'torn',
    generate: async ({ messages }) => {
      const asked = String(messages.at(-1)?.content);
      const fail = waiting.get(asked);
      waiting.delete(asked);
      await Promise.resolve();
      if (fail !== undefined) throw fail();
      return { text: 'after all', toolCalls: [], finishReason: 'stop' };
    },
  },
});

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture({ agents: [agent] });
});

test.each(Object.keys(failures))('half a character in %s of a model leaves the worker up', async (prompt) => {
  const handle = await fixture.start('torn', prompt);
  expect(await handle.result()).toMatchObject({ status: 'answered', answer: 'after all' });
});
