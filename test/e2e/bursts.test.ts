import { connect, type Answer, type Countersign } from '../../src/client';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import { calls, startFixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';

jest.setTimeout(120_000);

const { effects, start, client } = useAgent('burst', (made) => [
  recordTool(made, { name: 'pay', safety: 'dangerous' }),
]);

const APPROVED = { decision: 'approved' } as const;

const kinds = (answers: readonly Answer[]): string[] => [...new Set(answers.map(({ status }) => status))];

test('64 decisions in one turn from two clients at once: each is accepted, none falls back to the signal', async () => {
  const other = await connect({ address: testAddress() });
  const names = Array.from({ length: 64 }, (_, n) => `many ${n}`);
  const step = { toolCalls: names.map((tag) => ({ name: 'pay', arguments: { tag } })) };
  const handle = await start([step], '1.1');
  const clients = [client(), other];
  const answers = await Promise.all(
    names.map((_, n) => {
      const sender = clients[n % 2] ?? client();
      return sender.decide(handle.workflowId, { callId: `1.${n + 1}`, ...APPROVED });
    }),
  );
  expect(kinds(answers)).toEqual(['accepted']);
  await handle.result();
  expect((await effects.lines('many')).length).toBe(64);
  await other.close();
});

test('200 decisions at once in 100 turns: each is accepted', async () => {
  const two = (n: number) => ({
    toolCalls: ['a', 'b'].map((tag) => ({ name: 'pay', arguments: { tag: `turn ${n}${tag}` } })),
  });
  const handles = await Promise.all(Array.from({ length: 100 }, (_, n) => start([two(n)], '1.2')));
  const answers = await Promise.all(
    handles.flatMap(({ workflowId }) =>
      ['1.1', '1.2'].map((callId) => client().decide(workflowId, { callId, ...APPROVED })),
    ),
  );
  expect(kinds(answers)).toEqual(['accepted']);
  await Promise.all(handles.map((handle) => handle.result()));
  expect((await effects.lines('turn')).length).toBe(200);
});

describe('a worker that polls and does not answer', () => {
  let sender: Countersign;
  beforeAll(async () => {
    sender = await connect({ address: testAddress() });
  });
  afterAll(() => sender.close());

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
  const worker = await fixture.addProcess();
  const handle = await fixture.startSteps(calls('pay:a'));
  await waitFor(handle, '1.1');
  worker.signal('SIGTERM');
  await worker.gone;
  const edit = { callId: '1.1', decision: 'modified', arguments: { tag: 'c' } } as const;
  expect(await client().decide(handle.workflowId, edit)).toMatchObject({ status: 'recorded' });
  await fixture.addProcess();
  await fixture.open('c');
  expect(await fixture.effectsOf('c', 1)).toHaveLength(1);
});

test.concurrent(
  'twelve decisions in a turn without a worker: all are recorded, also those that the server has no room for',
  async () => {
    const fixture = await startFixture();
    const worker = await fixture.addProcess();
    const names = Array.from({ length: 12 }, (_, n) => `w${n}`);
    const handle = await fixture.startSteps(calls(...names.map((name) => `pay:${name}`)));
    await waitFor(handle, '1.1');
    worker.signal('SIGTERM');
    await worker.gone;
    const answers = await Promise.all(
      names.map((_, n) => client().decide(handle.workflowId, { callId: `1.${n + 1}`, ...APPROVED })),
    );
    expect(kinds(answers)).toEqual(['recorded']);
    await Promise.all([fixture.addProcess(), ...names.map((name) => fixture.open(name))]);
    expect(await handle.result()).toMatchObject({ counts: { calls: 12, failed: 0 } });
  },
);
