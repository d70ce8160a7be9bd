import type { PreparedCall, RemoteCall } from '../../src/contract/call';
import { prepareRemote } from '../../src/workflows/prepare-call';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { thinkOutput } from '../history/script';
import { PAY_SCHEMA, validCall } from '../support/calls';
import { endWorkflow, type Job, jobs, lines, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

describe('calls of tools on other task queues', () => {
  const far: RemoteCall = {
    kind: 'remote',
    ...{ callId: '1.1', id: 'm', tool: 'pay', taskQueue: 'far', raw: '{}' },
  };

  /** What the calls of a reply became, and the commands task by task. */
  async function prepared(
    ...come: Job[]
  ): Promise<{ calls: PreparedCall[] | undefined; all: string[]; turn: Turn }> {
    const turn = makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1');
    let calls: PreparedCall[] | undefined;
    const { workflow, commands } = await WorkflowUnderTest.start(async () => {
      calls = await prepareRemote(turn, thinkOutput([validCall({ callId: '1.2' }), far]));
      await new Promise(() => undefined);
    });
    const all = lines(commands);
    for (const job of come) all.push(...lines(await workflow.task([job])));
    return { calls, all, turn };
  }

  it('are prepared there, with the schema that edits are checked against', async () => {
    const { calls, all, turn } = await prepared(jobs.completed(1, { call: validCall(), schema: PAY_SCHEMA }));
    expect(all).toEqual(['schedule prepare-1.1']);
    expect(calls).toMatchObject([{ callId: '1.2' }, { callId: '1.1', kind: 'ask' }]);
    expect(turn.approvals.schemas.get('pay-1')).toEqual(PAY_SCHEMA);
  });

  it('go on to the queue that a worker there names', async () => {
    const { all } = await prepared(jobs.completed(1, { call: { ...far, taskQueue: 'farther' } }));
    expect(all).toEqual(['schedule prepare-1.1', 'schedule prepare-1.1']);
  });

  it.each<[string, Job[], string]>([
    [
      'three times',
      [jobs.completed(1, 'x'), jobs.completed(2, 'x'), jobs.completed(3, 'x')],
      'cannot be read',
    ],
    [
      'because workers send it back and forth',
      ['farther', 'far', 'farther'].map((taskQueue, n) =>
        jobs.completed(n + 1, { call: { ...far, taskQueue } }),
      ),
      'do not agree on the task queue',
    ],
    [
      'because an operator says that it has to be prepared where it was prepared',
      [1, 2, 3].map((seq) => jobs.completed(seq, { call: far })),
      'do not agree on the task queue',
    ],
    [
      'because no worker took it',
      [jobs.failed(1, { message: 'activity', cause: { message: 'too late', applicationFailureInfo: {} } })],
      'too late',
    ],
  ])('are invalid where nothing that can be read comes back: %s', async (_, come, why) => {
    const { calls } = await prepared(...come);
    expect(calls?.[1]).toMatchObject({
      kind: 'invalid',
      result: { error: { code: 'transport', message: expect.stringContaining(why) } },
    });
  });
});
