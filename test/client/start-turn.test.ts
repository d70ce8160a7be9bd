import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { ClientContext } from '../../src/client/context';
import { checkTurnId, drawTurnId, startCall, startTurn } from '../../src/client/start-turn';
import { grpcError } from '../history/fake-server';

/** A web inbox whose server refuses to start anything, the first times in one way and then in another. */
function refusing(errors: Error[]): { context: ClientContext; attempts: () => number } {
  let attempts = 0;
  const start = async (): Promise<never> => {
    const error = errors[Math.min(attempts, errors.length - 1)];
    attempts += 1;
    throw new Error('Failed to start Workflow', { cause: error });
  };
  const withDeadline = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const context = {
    client: { workflow: { start } },
    connection: { withDeadline },
    readyMs: 300,
  } as unknown as ClientContext;
  return { context, attempts: () => attempts };
}

test.each([
  ['no agent', { agent: ' ', prompt: 'x' }],
  ['an agent whose name is too long', { agent: 'a'.repeat(201), prompt: 'x' }],
  ['no prompt', { agent: 'a', prompt: ' \n' }],
  ['a prompt over 1 MiB', { agent: 'a', prompt: 'ä'.repeat(600_000) }],
  ['a prompt over 1 MiB as JSON', { agent: 'a', prompt: '"'.repeat(600_000) }],
  ['an id with a slash', { agent: 'a', prompt: 'x', id: 'a/b' }],
  ['a priority of 0', { agent: 'a', prompt: 'x', priority: { priorityKey: 0 } }],
  ['half a priority', { agent: 'a', prompt: 'x', priority: { priorityKey: 1.5 } }],
  ['a priority that is not a number', { agent: 'a', prompt: 'x', priority: { priorityKey: NaN } }],
  [
    'a fairness key of 65 bytes',
    { agent: 'a', prompt: 'x', priority: { fairnessKey: `${'ä'.repeat(32)}x` } },
  ],
  ['a weight of 0', { agent: 'a', prompt: 'x', priority: { fairnessWeight: 0 } }],
  ['a weight over 1000', { agent: 'a', prompt: 'x', priority: { fairnessWeight: 1001 } }],
])('%s is refused before anything is asked', async (_, request) => {
  const { context, attempts } = refusing([new Error('not asked')]);
  await expect(startTurn(context, request)).rejects.toMatchObject({ code: 'usage' });
  expect(attempts()).toBe(0);
});

const unknown = grpcError(
  3,
  'Namespace default has no mapping defined for search attribute CountersignState',
);

test('unknown search attributes are waited for, then the worker is named', async () => {
  const { context, attempts } = refusing([unknown]);
  await expect(startTurn(context, { agent: 'a', prompt: 'x' })).rejects.toMatchObject({
    code: 'not_ready',
    hint: expect.stringContaining('countersign worker'),
  });
  expect(attempts()).toBeGreaterThan(1);
});

test.each([
  ['server_failed', grpcError(3, 'workflow id is too long'), 'workflow id is too long'],
  ['server_failed', grpcError(7, 'no'), 'no'],
  ['no_server', grpcError(14, 'connection refused'), 'does not answer'],
  ['server_failed', new Error('odd'), 'odd'],
])('other refusals are reported at once: %s', async (code, error, words) => {
  const { context, attempts } = refusing([error]);
  await expect(startTurn(context, { agent: 'a', prompt: 'x' })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(words),
  });
  expect(attempts()).toBe(1);
});

describe('a start whose answer is lost', () => {
  const lost = grpcError(4, 'Deadline exceeded');

  test('is asked for once more under the same id, and then said to be unknown', async () => {
    const { context, attempts } = refusing([lost]);
    await expect(startTurn(context, { agent: 'a', prompt: 'x' })).rejects.toMatchObject({
      code: 'server_failed',
      message: expect.stringMatching(/turn-\w+ started; it may run/),
    });
    expect(attempts()).toBe(2);
  });

  test.each([
    ['is asked for once more if its id is for this call alone', false, 2],
    ['is not asked for again if its id may be used again: the first call may have ended', true, 1],
  ])('of a given call %s', async (_what, joins, times) => {
    const { context, attempts } = refusing([lost]);
    const given = { id: 'c', agent: 'a', prompt: 'x', taskQueue: 'q', requester: 'ann', readyMs: 0, joins };
    const started = startCall(context, { ...given, call: { tool: 'pay', raw: '{}' } });
    await expect(started).rejects.toMatchObject({ code: 'server_failed' });
    expect(attempts()).toBe(times);
  });

  test.each<[string, string | undefined, unknown]>([
    ['a drawn id: it is the turn of the first start', undefined, { runId: 'run-1' }],
    ['an id that somebody chose: nobody knows', 'daily', 'server_failed'],
  ])('finds a turn under %s', async (_what, id, expected) => {
    const { context } = refusing([lost]);
    let attempts = 0;
    context.client.workflow.start = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('Failed to start Workflow', { cause: lost });
      throw new WorkflowExecutionAlreadyStartedError('there', 'turn', 'agentTurn');
    };
    Object.assign(context.client.workflow, {
      getHandle: () => ({ describe: async () => ({ runId: 'run-1' }) }),
    });
    const started = startTurn(context, { agent: 'a', prompt: 'x', ...(id === undefined ? {} : { id }) });
    if (typeof expected === 'string') await expect(started).rejects.toMatchObject({ code: expected });
    else await expect(started).resolves.toMatchObject(expected as object);
  });
});

test('drawn ids are ids, differ, and sort by time', () => {
  const times = [0, 1, 1_700_000_000_000, 1_800_000_000_000, 4_000_000_000_000];
  const clock = jest.spyOn(Date, 'now');
  const ids = times.map((time) => {
    clock.mockReturnValue(time);
    return drawTurnId();
  });
  expect(ids.map(checkTurnId).sort()).toEqual(ids);
  const atOnce = Array.from({ length: 10_000 }, drawTurnId);
  clock.mockRestore();
  expect(new Set(atOnce).size).toBe(10_000);
});

test.each(['a', 'turn-1', 'A.b_c-9', 'daily-2026-11-22T09:09:30Z', '0', 'x'.repeat(200)])(
  '%s can be an id',
  (id) => {
    expect(checkTurnId(id)).toBe(id);
  },
);

test.each(['', ' ', '-a', '.a', 'a b', 'a/b', "a'b", 'a"b', 'é', 'a\n', 'x'.repeat(201)])(
  '%j cannot',
  (id) => {
    expect(() => checkTurnId(id)).toThrow(
      expect.objectContaining({ code: 'usage', hint: expect.stringContaining('letters') }),
    );
  },
);
