import { hostname } from 'node:os';
import { MockActivityEnvironment } from '@temporalio/testing';
import { verify } from '../../src/activities/check-doubt';
import type { VerifyOutput } from '../../src/contract/call';
import { defineTool } from '../../src/tools/define-tool';
import { workerWith } from './fake-worker';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object' },
  safety: 'dangerous',
  verify: () => ({ outcome: 'did_not' }),
  handler: () => 'paid',
});
const deps = workerWith({ tools: [pay] }, { agentWaitMs: 60_000 });

/** Asks about a call of this agent and tool, so long after it was first scheduled. */
function ask({
  waited = 0,
  attempt = 1,
  ...named
}: Partial<Record<'agent' | 'tool', string>> & { waited?: number; attempt?: number }) {
  const call = {
    agent: 'a',
    callId: '1.1',
    id: 'call_1',
    tool: 'pay',
    callKey: 'k',
    generation: 0,
    arguments: {},
  };
  const environment = new MockActivityEnvironment(
    { attempt, scheduledTimestampMs: Date.now() - waited },
    { logger: deps.log },
  );
  return new Promise<VerifyOutput>((resolve, reject) => {
    environment.run(() => verify(deps, { ...call, ...named }).then(resolve)).catch(reject);
  });
}

it.each([
  [{ agent: 'b' }, 'no worker with agent "b" here: the one that took this has a; near it: a'],
  [{ tool: 'charge' }, 'no worker with the tool charge of agent "a" here: the one that took this lacks it'],
])(
  'leaves %j to another worker, tells nothing before agentWait is over, then that it cannot tell',
  async (named, lack) => {
    const notHere = { type: 'countersign.not_here', message: lack, nonRetryable: false };
    await expect(ask(named)).rejects.toMatchObject({ ...notHere, nextRetryDelay: 250 });
    await expect(ask({ ...named, attempt: 50, waited: 59_000 })).rejects.toMatchObject({
      ...notHere,
      nextRetryDelay: 5000,
    });
    expect(await ask({ ...named, waited: 60_000 })).toEqual({
      outcome: 'cannot_tell',
      message: `${lack}; the journal of ${hostname()} knows no start of it`,
    });
  },
);

it('asks the tool that is here, also late', async () => {
  expect(await ask({ waited: 3_600_000 })).toMatchObject({ outcome: 'did_not' });
});

it('gives up after attempts that were lost, when agentWait is over', async () => {
  expect(await ask({ attempt: 6, waited: 59_000 })).toMatchObject({ outcome: 'did_not' });
  expect(await ask({ attempt: 6, waited: 60_000 })).toMatchObject({ outcome: 'cannot_tell' });
});
