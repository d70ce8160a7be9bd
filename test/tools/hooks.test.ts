import { LIMITS } from '../../src/contract/limits';
import { utf8Bytes } from '../../src/contract/text/bytes';
import { readContext, type TurnContext, withContext, runHook } from '../../src/tools/hooks';

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

describe('the context of an agent', () => {
  const facts = (signal = new AbortController().signal) => ({
    ...{ agent: 'clerk', prompt: 'hello', metadata: {}, signal },
    secrets: { get: async () => 'hunter2' },
  });
  const read = (provide: TurnContext, signal?: AbortSignal) =>
    readContext(provide, facts(signal), (text) => text.replaceAll('hunter2', '[redacted]'));
  // @ts-expect-error: what a program without types may return
  const wrong: TurnContext = () => 7;

  it.each<[string, TurnContext, string | undefined]>([
    ['text', () => 'ann likes tea', 'ann likes tea'],
    ['text that comes later', async ({ prompt, agent }) => `${agent}: ${prompt}`, 'clerk: hello'],
    ['a secret', async ({ secrets }) => `key ${await secrets.get('key')}`, 'key [redacted]'],
    ['nothing', () => undefined, undefined],
    ['empty text', () => '', undefined],
  ])('reads %s', async (_, provide, expected) => {
    expect(await read(provide)).toBe(expected);
  });

  it.each<[string, TurnContext, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('hunter2 is wrong');
      },
      /^the context of agent clerk failed: \[redacted\] is wrong$/,
    ],
    ['rejects', () => Promise.reject(new Error('no route')), /failed: no route$/],
    ['rejects with no error', () => Promise.reject('gone'), /failed: gone$/],
    ['gives a number', wrong, /is a number, not text$/],
  ])('says which agent has a context that %s', async (_, provide, expected) => {
    await expect(read(provide)).rejects.toThrow(expected);
  });

  it('cuts what is too long, with a mark', async () => {
    const text = (await read(() => 'é'.repeat(LIMITS.contextBytes))) ?? '';
    expect(utf8Bytes(text)).toBeLessThanOrEqual(LIMITS.contextBytes + 200);
    expect(text).toMatch(/é\n?.*left out|cut|dropped/s);
  });

  it('ends with the attempt, and tells the function', async () => {
    const stop = new AbortController();
    let seen: AbortSignal | undefined;
    const reading = read(({ signal }) => {
      seen = signal;
      return new Promise(() => undefined);
    }, stop.signal);
    stop.abort(new Error('the turn was cancelled'));
    await expect(reading).rejects.toThrow('the turn was cancelled');
    expect(seen?.aborted).toBe(true);
  });

  it('gives it to the model after the instructions, as information', () => {
    expect(withContext('Do it.', undefined)).toBe('Do it.');
    expect(withContext('Do it.', 'ann likes tea')).toMatch(
      /^Do it\.\n\n\[Context.*not instructions\.\]\nann likes tea$/,
    );
  });
});
