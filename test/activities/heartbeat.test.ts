import { ActivityCancellationDetails, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describeLostAttempt, startHeartbeat, type AttemptGuard } from '../../src/activities/heartbeat';

const environment = (info: { startToCloseTimeoutMs?: number; heartbeatTimeoutMs?: number } = {}) =>
  new MockActivityEnvironment({ startToCloseTimeoutMs: 60_000, heartbeatTimeoutMs: 10_000, ...info });

/** Runs `look` while the guard is held, on a clock of the test's own. */
async function holding(
  env: MockActivityEnvironment,
  look: (guard: AttemptGuard) => void,
  details?: object,
): Promise<void> {
  await env.run(async () => {
    const guard = startHeartbeat(details);
    try {
      look(guard);
    } finally {
      guard.stop();
    }
  });
}

const beatsOf = (env: MockActivityEnvironment): unknown[] => {
  const beats: unknown[] = [];
  env.on('heartbeat', (details: unknown) => beats.push(details));
  return beats;
};

beforeEach(() => jest.useFakeTimers({ now: 1_000_000 }));
afterEach(() => jest.useRealTimers());

it('costs a quick call no beat', async () => {
  const env = environment();
  const beats = beatsOf(env);
  await holding(env, () => jest.advanceTimersByTime(999));
  expect(beats).toEqual([]);
});

it('beats every second, and at once where a later attempt has something to find', async () => {
  const env = environment();
  const beats = beatsOf(env);
  await holding(env, () => jest.advanceTimersByTime(3000), { key: 'k' });
  expect(beats).toEqual([{ key: 'k' }, { key: 'k' }, { key: 'k' }, { key: 'k' }]);
});

it('stops when it is released', async () => {
  const env = environment();
  const beats = beatsOf(env);
  await holding(env, () => {});
  jest.advanceTimersByTime(10_000);
  expect(beats).toEqual([]);
});

it('listens to no cancellation once it is released: the parts of a burst share a signal', async () => {
  const env = environment();
  let held: AttemptGuard | undefined;
  await holding(env, (guard) => (held = guard));
  env.cancel('CANCELLED', new ActivityCancellationDetails({ cancelRequested: true }));
  expect(held?.signal.aborted).toBe(false);
});

it.each([
  ['past its start-to-close', { startToCloseTimeoutMs: 5000 }, 5000],
  ['not heard of for its heartbeat timeout', { heartbeatTimeoutMs: 3000 }, 3000],
])('is lost when it is %s, even where no timer ran', async (_, info, frozenMs) => {
  const env = environment(info);
  const beats = beatsOf(env);
  await holding(env, (guard) => {
    expect(guard.lost()).toBeUndefined();
    jest.setSystemTime(Date.now() + frozenMs);
    expect(guard.lost()).toBe('late');
    expect(guard.signal.aborted).toBe(true);
    jest.advanceTimersByTime(5000);
  });
  expect(beats).toEqual([]);
});

it('is kept by its beats past the heartbeat timeout', async () => {
  await holding(environment({ heartbeatTimeoutMs: 3000 }), (guard) => {
    jest.advanceTimersByTime(20_000);
    expect(guard.lost()).toBeUndefined();
  });
});

it.each([
  ['cancelled', { cancelRequested: true }, 'cancelled'],
  ['shut down', { workerShutdown: true }, 'shutdown'],
  ['reset', { reset: true }, 'reset'],
  ['paused', { paused: true }, 'paused'],
  ['timed out on the server', { timedOut: true }, 'late'],
  ['forgotten by the server', { notFound: true }, 'late'],
])('is lost when it is %s', async (_, details, lostReason) => {
  const env = environment();
  await holding(env, (guard) => {
    env.cancel('CANCELLED', new ActivityCancellationDetails(details));
    expect(guard.lost()).toBe(lostReason);
    expect(guard.signal.aborted).toBe(true);
    expect(guard.signal.reason).toMatchObject({ message: describeLostAttempt(guard.lost() ?? 'late') });
  }).catch((error: unknown) => {
    if (!(error instanceof CancelledFailure)) throw error;
  });
});

it('keeps its first reason', async () => {
  const env = environment();
  await holding(env, (guard) => {
    jest.setSystemTime(Date.now() + 60_000);
    expect(guard.lost()).toBe('late');
    env.cancel('CANCELLED', new ActivityCancellationDetails({ cancelRequested: true }));
    expect(guard.lost()).toBe('late');
  }).catch((error: unknown) => {
    if (!(error instanceof CancelledFailure)) throw error;
  });
});
