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

/** Watches so many conversations, and returns how each is left. */
const watch = (open: ReturnType<typeof createThreads>, count: number) =>
  Array.from({ length: count }, (_, n) => open(`t${n}`).watch());

test('who watches a conversation keeps it, and one more than can be read is refused', () => {
  const { open, reading } = threads();
  const [leave] = watch(open, 200);
  const begun = [...reading];
  expect(() => open('another')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
  expect(reading).toEqual(begun);
  expect(open('t7')).toBe(open('t7'));
  leave?.();
  expect(() => open('another')).not.toThrow();
});

test('a conversation that nobody watches makes room, however long others are watched', async () => {
  const { open, reading } = threads();
  watch(open, 200)[5]?.();
  open('another');
  await new Promise(setImmediate);
  expect([reading.includes('t5'), reading.includes('another'), reading.length]).toEqual([false, true, 200]);
});

test('a conversation that nobody reads any more has not ended, and no page says that it has', async () => {
  const { open } = threads();
  const shared = open('t');
  const read = shared.read(new AbortController().signal);
  shared.stop.abort();
  expect(await read).toBeUndefined();
  expect(open('t')).not.toBe(shared);
});
