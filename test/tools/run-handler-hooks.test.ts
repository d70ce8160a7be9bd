import { runHook } from '../../src/tools/run-handler';

it('waits for a hook and says nothing of a success', async () => {
  const warn = jest.fn();
  const run = jest.fn().mockResolvedValue(7);
  await runHook('before', run, warn);
  expect(run).toHaveBeenCalledTimes(1);
  expect(warn).not.toHaveBeenCalled();
});

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('store down');
    },
  ],
  ['rejects', () => Promise.reject(new Error('store down'))],
])('warns about a hook that %s, and goes on', async (_, run) => {
  const warn = jest.fn();
  await runHook('after', run, warn);
  expect(warn.mock.calls).toEqual([['hook after failed: store down']]);
});

it('goes on without a hook that takes too long', async () => {
  jest.useFakeTimers();
  try {
    const warn = jest.fn();
    const done = runHook('onError', () => new Promise(() => undefined), warn);
    await jest.advanceTimersByTimeAsync(2000);
    await done;
    expect(warn.mock.calls).toEqual([['hook onError took longer than 2000 ms; going on without it']]);
  } finally {
    jest.useRealTimers();
  }
});
