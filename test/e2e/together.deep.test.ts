import { connect } from '../../src/client';
import { calls, type TurnHandle, startFixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { decide, eventsOf, signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';

/** What each event is, by its attributes. */
const kindsOf = async (handle: TurnHandle): Promise<string[]> =>
  (await eventsOf(handle)).map((event) => /(\w+)EventAttributes/.exec(Object.keys(event).join())?.[1] ?? '');

/** A turn whose worker is gone while one call ends and another is decided on; both are there when a worker is back. */
const decidedMeanwhile = async (send: (handle: TurnHandle) => Promise<unknown>): Promise<TurnHandle> => {
  const fixture = await startFixture();
  const place = { callsQueue: `${fixture.taskQueue}-calls`, heartbeat: '30s' };
  const turns = { ...place, queues: [fixture.taskQueue] };
  const first = await fixture.addProcess(turns);
  await fixture.addHere({ ...place, queues: [place.callsQueue] });
  const handle = await fixture.startSteps(calls('look:a', 'pay:b'));
  await waitFor(handle, '1.2');
  await fixture.effectsOf('a', 1);
  await first.kill();
  await fixture.open('a');
  await fixture.open('b');
  await until('the outcome on record', async () => {
    const kinds = await kindsOf(handle);
    return kinds.lastIndexOf('activityTaskCompleted') > kinds.lastIndexOf('workflowTaskCompleted');
  });
  const [, answer] = await Promise.all([fixture.addHere(turns), send(handle)]);
  expect(answer).toEqual(expect.anything());
  return handle;
};

const APPROVAL = { callId: '1.2', decision: 'approved', approver: 'ann' } as const;

/** The request is no longer open. */
const CLOSED = ['workflowPropertiesModified', 'upsertWorkflowSearchAttributes'];

test.concurrent.each<[string, (handle: TurnHandle) => Promise<unknown>, string[]]>([
  [
    'an update',
    (handle) => decide(handle, APPROVAL),
    ['workflowExecutionUpdateAccepted', 'workflowExecutionUpdateCompleted', ...CLOSED],
  ],
  [
    'a signal',
    (handle) => signalDecision(handle, APPROVAL).then(() => 'sent'),
    // The verdict is in the memo.
    [...CLOSED, 'workflowPropertiesModified'],
  ],
])(
  '%s and an outcome in one workflow task: the decision is on record before what it changed',
  async (_, send, then) => {
    const handle = await decidedMeanwhile(send);
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 2, failed: 0 } });
    const kinds = await kindsOf(handle);
    const [ended = 0] = kinds.flatMap((kind, at) => (kind === 'activityTaskCompleted' ? [at] : [])).slice(-3);
    const since = kinds.slice(kinds.indexOf('workflowTaskCompleted', ended) + 1);
    expect(since.slice(0, since.indexOf('timerCanceled'))).toEqual(then);
    const client = await connect({ address: testAddress() });
    const { calls: told } = await client.view(handle.workflowId);
    await client.close();
    expect(told.map(({ phase }) => phase)).toEqual(['done', 'done']);
    expect(told[1]?.decisions).toMatchObject([{ approver: 'ann', decision: 'approved' }]);
  },
);
