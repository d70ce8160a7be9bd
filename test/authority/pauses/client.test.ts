import { setTimeout as delay } from 'node:timers/promises';
import { pause, resume } from '../../../src/authority/pauses/client';
import type { ClientContext } from '../../../src/client/context';
import { MEMO, WORKFLOWS } from '../../../src/contract/names';
import { TIMES } from '../../../src/contract/limits';

jest.mock('node:timers/promises', () => ({ setTimeout: jest.fn(() => Promise.resolve()) }));
afterEach(() => {
  jest.mocked(delay).mockClear();
  jest.restoreAllMocks();
});

const PAUSE = { id: 'p1', at: '2026-01-01T00:00:00.000Z', reason: 'wait', by: 'ann' };

/** An answer that was lost on its way, as gRPC says it. */
const lost = (): Error =>
  Object.assign(new Error('14 UNAVAILABLE'), { code: 14, details: 'UNAVAILABLE', metadata: {} });

/** A client whose control workflow answers with these, one after the other, and the ids of the updates that it got. */
function controlled(...answers: unknown[]): { context: ClientContext; ids: (string | undefined)[] } {
  const ids: (string | undefined)[] = [];
  const described = {
    ...{ type: WORKFLOWS.control, status: { name: 'RUNNING' } },
    memo: { [MEMO.pauses]: [PAUSE] },
  };
  const handle = {
    executeUpdate: async (_name: string, { updateId }: { updateId?: string }) => {
      ids.push(updateId);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    describe: async () => described,
  };
  const withDeadline = (_at: number, act: () => Promise<unknown>) => act();
  const client = { withDeadline, workflow: { getHandle: () => handle, start: async () => handle } };
  const context: ClientContext = Object.assign(Object.create(null), { client, connection: { withDeadline } });
  return { context, ids };
}

it('sends one update however often its answer is lost', async () => {
  const { context, ids } = controlled(lost(), lost(), [PAUSE]);
  expect(await resume(context, { all: true, by: 'ann' })).toEqual([PAUSE]);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toMatch(/^[\w-]{36}$/);
});

it('sends another update for another question', async () => {
  const { context, ids } = controlled([PAUSE], [PAUSE]);
  await resume(context, { all: true, by: 'ann' });
  await resume(context, { all: true, by: 'ann' });
  expect(new Set(ids).size).toBe(2);
});

it.each([
  ['new', {}],
  ['one that holds already, which may have come a moment ago', { already: true }],
])('says that a pause is in effect once no worker knows less: %s', async (_what, how) => {
  const { context } = controlled({ pause: PAUSE, ...how });
  await pause(context, { reason: 'wait', by: 'ann' });
  expect(jest.mocked(delay).mock.lastCall).toEqual([TIMES.pausesKnown]);
});

/** What the server says while the worker that took its task fails at it. */
const failing = (): Error =>
  Object.assign(new Error('9 FAILED_PRECONDITION'), {
    ...{ code: 9, metadata: {} },
    details: 'Unable to perform workflow execution update due to Workflow Task in failed state.',
  });

it('takes effect if a worker answers before ten seconds are over', async () => {
  const { context, ids } = controlled(failing(), failing(), { pause: PAUSE });
  expect(await pause(context, { reason: 'wait', by: 'ann' })).toEqual({ pause: PAUSE });
  expect(ids).toHaveLength(3);
});

it('says after ten seconds that every worker failed, and where to look', async () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
  const { context, ids } = controlled(...Array.from({ length: 100 }, failing));
  await expect(pause(context, { reason: 'wait', by: 'ann' })).rejects.toMatchObject({
    code: 'still_waiting',
    message: expect.stringContaining('every worker that took it failed at its task, for 10 s'),
    hint: expect.stringContaining('the last failed workflow task'),
  });
  expect(ids.length).toBeGreaterThan(2);
  expect(new Set(ids).size).toBe(1);
});

it('says that it may still take effect where no answer came in time', async () => {
  const late = Object.assign(new Error('late'), { name: 'WorkflowUpdateRPCTimeoutOrCancelledError' });
  const { context, ids } = controlled(late);
  await expect(pause(context, { reason: 'wait', by: 'ann' })).rejects.toMatchObject({
    code: 'still_waiting',
    message: expect.stringContaining('may still take effect'),
    hint: expect.stringContaining('countersign pause'),
  });
  expect(ids).toHaveLength(1);
});
