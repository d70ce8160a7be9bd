/**
 * Does `act` with no wait on its way: the clock jumps from timer to timer, so seconds that a server does not answer take none.
 * For what asks nothing outside of this process, whose time limits would be over at once.
 */
export async function withoutWaits<T>(act: () => Promise<T>): Promise<T> {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  try {
    let hasEnded = false;
    const ended = act().finally(() => (hasEnded = true));
    // Nobody awaits it before it has ended.
    ended.catch(() => undefined);
    while (!hasEnded) await jest.advanceTimersToNextTimerAsync();
    return await ended;
  } finally {
    jest.useRealTimers();
  }
}
