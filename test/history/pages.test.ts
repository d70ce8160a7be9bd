import { temporal } from '@temporalio/proto';
import { toNumber } from '../../src/history/decode/proto';
import { readFirst, readRun } from '../../src/history/read-run';
import { STATUS } from '../../src/history/server-errors';
import { fakeServer, type Reply } from './fake-server';

const RUN = { turn: 't', runId: 'r' };
const TOO_LARGE = {
  status: STATUS.resourceExhausted,
  details: 'Received message larger than max (5737717 vs 4194304)',
};
const LATE = { status: STATUS.deadlineExceeded };

async function read(replies: Reply[], { live = false, length = 0 } = {}) {
  const { server, asked } = fakeServer(replies, length);
  const ids: number[] = [];
  for await (const event of readRun(server, { ...RUN, live, signal: new AbortController().signal }))
    ids.push(toNumber(event.eventId));
  return { ids, sizes: asked.map(({ size }) => size), tokens: asked.map(({ token }) => token) };
}

/** An event of so many MiB. */
const sized = (eventId: number, mebibytes: number) =>
  temporal.api.history.v1.HistoryEvent.fromObject({
    eventId,
    workflowExecutionSignaledEventAttributes: {
      input: { payloads: [{ data: Buffer.alloc(mebibytes * 1024 * 1024) }] },
    },
  });

test.each([
  ['the connection refuses', TOO_LARGE, false],
  ['does not come, because the SDK asks again and tells nobody', LATE, false],
  ['the server cuts off at its deadline', { status: STATUS.cancelled, details: 'Call cancelled' }, false],
  ['the connection refuses, followed live', TOO_LARGE, true],
])('a page that %s is asked for in smaller parts, from the same place', async (_, refused, live) => {
  const { ids, sizes, tokens } = await read(
    [
      { events: [1, 2], more: true },
      refused,
      refused,
      { events: [3, 4, 5, 6], more: true },
      { events: [7], more: false },
    ],
    { live, length: 7 },
  );
  expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(sizes).toEqual([256, 256, 16, 1, 4]);
  expect(tokens).toEqual(['', 'token1', 'token1', 'token1', 'token4']);
});

test('after a page that was too large, the next ones are as large as the events before them allow', async () => {
  const { sizes } = await read([
    TOO_LARGE,
    { events: Array.from({ length: 16 }, (_, index) => index + 1), more: true },
    TOO_LARGE,
    { events: [sized(17, 1), sized(18, 1), sized(19, 0), sized(20, 0)], more: true },
    { events: [sized(21, 2)], more: true },
    { events: [22], more: true },
    { events: [23, 24, 25, 26], more: false },
  ]);
  expect(sizes).toEqual([256, 16, 64, 4, 3, 1, 4]);
});

test('an event that is too large alone is shown by what it is, at once', async () => {
  await expect(read([TOO_LARGE, TOO_LARGE, TOO_LARGE])).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringContaining('5737717 vs 4194304'),
    hint: expect.stringContaining('grpc.max_receive_message_length'),
  });
});

test.each([false, true])('an event that does not come from a server that answers; live: %s', async (live) => {
  await expect(read([LATE, LATE, LATE], { live, length: 9 })).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringContaining('probably'),
  });
});

test('a live reader waits for one event, and then reads all that came', async () => {
  const { ids, sizes } = await read(
    [
      { events: [1, 2], more: true },
      { events: [3], more: true },
      { events: [3, 4, 5], more: true },
      { events: [], more: true },
      { events: [6], more: true },
      { events: [6], more: false },
    ],
    { live: true, length: 2 },
  );
  expect(ids).toEqual([1, 2, 3, 4, 5, 6]);
  expect(sizes).toEqual([256, 1, 256, 1, 1, 256]);
});

test('the first event is asked for alone', async () => {
  const { server, asked } = fakeServer([{ events: [1, 2], more: true }]);
  expect(toNumber((await readFirst(server, RUN))?.eventId)).toBe(1);
  expect(asked).toEqual([{ token: '', live: false, size: 1 }]);
});
