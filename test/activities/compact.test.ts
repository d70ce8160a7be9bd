import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { compact } from '../../src/activities/compact';
import { createMemory } from '../../src/activities/conversation';
import type { CompactOutput } from '../../src/contract/session';
import { type Model, ModelError } from '../../src/models/model';
import type { AgentOptions } from '../../src/tools/define-agent';
import { workerWith } from './fake-worker';

const MINUTE = 60_000;

const broken: Model = {
  id: 'test/broken',
  generate: () => Promise.reject(new ModelError('server', 'it broke', { retryable: true })),
};
const good: Model = {
  id: 'test/good',
  generate: async () => ({ text: 'a summary', toolCalls: [], finishReason: 'stop' }),
};

/** Attempts as Temporal makes them, without the waits between them, whose sum is given. */
async function attempts(options: Partial<AgentOptions>) {
  const memory = createMemory();
  memory.remember('s', { replyId: 'd', entries: [{ kind: 'words', text: 'before' }], bytes: 6 });
  const deps = workerWith({ model: broken, ...options }, { memory });
  const session = { sessionId: 's', runId: 'r', count: 1, digest: 'd' };
  let heartbeatDetails: unknown;
  let waited = 0;
  for (let attempt = 1; attempt < 100; attempt++) {
    const info = { attempt, heartbeatDetails, startToCloseTimeoutMs: 10 * MINUTE };
    const environment = new MockActivityEnvironment(info, { logger: deps.log });
    environment.on('heartbeat', (details: unknown) => (heartbeatDetails = details));
    try {
      const run = (): Promise<CompactOutput> => compact(deps, { agent: 'a', session, turns: 1, entries: 1 });
      return { output: await environment.run(run), waited };
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable === true) return { error, waited };
      waited += Number(error.nextRetryDelay);
    }
  }
  throw new Error('it is asked without end');
}

test.each<[string, Partial<AgentOptions>]>([
  ['its own 10 minutes', {}],
  ['an hour', { limits: { modelRetryFor: '1h' } }],
  ['an hour before the next one', { fallback: { models: [broken], after: '1h' } }],
])(
  'a broken model that may be asked for %s is asked for a summary for two minutes',
  async (_case, options) => {
    const { error, waited } = await attempts(options);
    expect(error).toMatchObject({ message: expect.stringContaining('it broke (given up after') });
    const models = 1 + (options.fallback === undefined ? 0 : 1);
    expect(waited).toBeLessThanOrEqual(models * 2 * MINUTE);
    expect(waited).toBeGreaterThan(MINUTE / 2);
  },
);

test('the next model writes it', async () => {
  expect(await attempts({ fallback: [good] })).toMatchObject({
    output: { text: 'a summary', model: 'test/good' },
  });
});
