import { createThreads } from '../../../src/server/own-page/threads';

/** Conversations of which nothing is known yet, and those that are read, in order. */
const threads = () => {
  const reading: string[] = [];
  const session = (id: string) => ({
    follow: ({ signal }: { signal: AbortSignal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          reading.push(id);
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          reading.splice(reading.indexOf(id), 1);
          return { done: true, value: undefined };
        },
      }),
    }),
  });
  const closing = new AbortController().signal;
  const sources = Object.assign(Object.create(null), { closing, readerOf: () => ({ session }), texts: {} });
  return { open: createThreads(sources), reading };
};

/** Has somebody watch so many conversations, and returns how each is left. */
const watch = (open: ReturnType<typeof createThreads>, count: number, user = 'ann') =>
  Array.from({ length: count }, (_, n) => open(`${user}${n}`, user).watch(user));

test('who watches as many conversations as one person may opens no other, and nobody else is held up', () => {
  const { open, reading } = threads();
  const [leave] = watch(open, 200);
  const begun = [...reading];
  expect(() => open('another', 'ann')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
  expect(reading).toEqual(begun);
  expect(open('ann7', 'ann')).toBe(open('ann7', 'bob'));
  watch(open, 200, 'bob');
  expect(reading).toHaveLength(400);
  leave?.();
  expect(() => open('another', 'ann')).not.toThrow();
});

test('conversations that nobody watches make room, however long others are watched', async () => {
  const { open, reading } = threads();
  watch(open, 200).forEach((leave, n) => n > 0 && leave());
  watch(open, 2, 'bob')[0]?.();
  open('another', 'bob');
  await new Promise(setImmediate);
  const still = ['ann0', 'ann1', 'ann2', 'bob0', 'bob1'].filter((id) => reading.includes(id));
  expect([still, reading.length]).toEqual([['ann0', 'ann2', 'bob0', 'bob1'], 202]);
});

test('a conversation that nobody reads any more has not ended, and no page says that it has', async () => {
  const { open } = threads();
  const shared = open('t', 'ann');
  const read = shared.read(new AbortController().signal);
  shared.stop.abort();
  expect(await read).toBeUndefined();
  expect(open('t', 'ann')).not.toBe(shared);
});
