import { connect, type Answer, type Countersign } from '../../src/client';
import { calls, startFixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';

const APPROVED = { decision: 'approved' } as const;

const kinds = (answers: readonly Answer[]): string[] => [...new Set(answers.map(({ status }) => status))];

let sender: Countersign;
beforeAll(async () => {
  sender = await connect({ address: testAddress() });
});
afterAll(() => sender.close());

describe('a worker that polls and does not answer', () => {
  const frozen = async () => {
    const fixture = await startFixture();
    const worker = await fixture.addProcess({ heartbeat: '60s', maxCachedWorkflows: 100 });
    const { workflowId } = await fixture.startSteps(calls('pay:a', 'pay:b'));
    await waitFor(fixture.client.workflow.getHandle(workflowId), '1.2');
    worker.signal('SIGSTOP');
    await worker.stopped();
    return { fixture, worker, turn: workflowId };
  };

  test.concurrent('an edit waits for it: it is never on record unchecked', async () => {
    const { fixture, worker, turn } = await frozen();
    const edit = { callId: '1.1', decision: 'modified', arguments: { tag: 'c' } } as const;
    const answer = sender.decide(turn, edit);
    // Longer than any other decision waits.
    setTimeout(() => worker.signal('SIGCONT'), 14_000);
    expect(await answer).toMatchObject({ status: 'accepted' });
    await fixture.open('c');
    await fixture.effectsOf('c', 1);
  });

  test.concurrent('an approval goes by signal after 10 s, and counts once', async () => {
    const { fixture, worker, turn } = await frozen();
    const since = performance.now();
    expect(await sender.decide(turn, { callId: '1.1', ...APPROVED })).toMatchObject({ status: 'recorded' });
    expect(performance.now() - since).toBeGreaterThan(9_500);
    worker.signal('SIGCONT');
    await fixture.open('a');
    expect(await fixture.effectsOf('a', 1)).toHaveLength(1);
  });
});

test.concurrent('an edit in a turn whose worker has left goes by signal', async () => {
  const fixture = await startFixture();
  const worker = await fixture.addHere();
  const handle = await fixture.startSteps(calls('pay:a'));
  await waitFor(handle, '1.1');
  await worker.stop();
  const edit = { callId: '1.1', decision: 'modified', arguments: { tag: 'c' } } as const;
  expect(await sender.decide(handle.workflowId, edit)).toMatchObject({ status: 'recorded' });
  await fixture.addHere();
  await fixture.open('c');
  expect(await fixture.effectsOf('c', 1)).toHaveLength(1);
});

test.concurrent(
  'twelve decisions in a turn without a worker: all are recorded, also those that the server has no room for',
  async () => {
    const fixture = await startFixture();
    const worker = await fixture.addHere();
    const names = Array.from({ length: 12 }, (_, n) => `w${n}`);
    const handle = await fixture.startSteps(calls(...names.map((name) => `pay:${name}`)));
    await waitFor(handle, '1.1');
    await worker.stop();
    const answers = await Promise.all(
      names.map((_, n) => sender.decide(handle.workflowId, { callId: `1.${n + 1}`, ...APPROVED })),
    );
    expect(kinds(answers)).toEqual(['recorded']);
    await Promise.all([fixture.addHere(), ...names.map((name) => fixture.open(name))]);
    expect(await handle.result()).toMatchObject({ counts: { calls: 12, failed: 0 } });
  },
);
