import { toNumber } from '../../src/history/decode/time';
import { readRun } from '../../src/history/read-run';
import { STATUS } from '../../src/history/server-errors';
import { fakeServer, type Reply } from './fake-server';

async function read(replies: Reply[], live = true, signal = new AbortController().signal) {
  const { server, asked } = fakeServer(replies);
  const ids: number[] = [];
  for await (const event of readRun(server, { turn: 't', runId: 'r', live, signal }))
    ids.push(toNumber(event.eventId));
  return { ids, asked };
}

test('pages are read to the end, with the token of the one before', async () => {
  const { ids, asked } = await read(
    [
      { events: [1, 2], more: true },
      { events: [3], more: false },
    ],
    false,
  );
  expect(ids).toEqual([1, 2, 3]);
  expect(asked).toEqual([
    { token: '', live: false },
    { token: 'token1', live: false },
  ]);
});

test('an empty long poll is asked again', async () => {
  expect(
    (
      await read([
        { events: [1], more: true },
        { events: [], more: true },
        { events: [2], more: false },
      ])
    ).ids,
  ).toEqual([1, 2]);
});

test.each([
  ['unavailable', STATUS.unavailable],
  ['timed out', STATUS.deadlineExceeded],
  ['busy', STATUS.resourceExhausted],
  ['broken inside', STATUS.internal],
])('a server that is %s: nothing is lost and nothing comes twice', async (_, status) => {
  const { ids, asked } = await read([
    { events: [1, 2], more: true },
    { status },
    { status },
    { events: [1, 2, 3], more: true },
    { events: [4], more: false },
  ]);
  expect(ids).toEqual([1, 2, 3, 4]);
  expect(asked.map((one) => one.token)).toEqual(['', 'token1', '', '', 'token4']);
});

test.each([
  ['turn_not_found', STATUS.notFound],
  ['server_failed', STATUS.permissionDenied],
  ['server_failed', STATUS.invalidArgument],
])('%s is not tried again', async (code, status) => {
  await expect(read([{ status }])).rejects.toMatchObject({ code });
});

test('an aborted reader ends without an error, also in the middle of a failure', async () => {
  const controller = new AbortController();
  controller.abort();
  expect((await read([{ events: [1], more: true }], true, controller.signal)).ids).toEqual([]);
  const late = new AbortController();
  const reading = read(
    [{ events: [1], more: true }, ...Array.from({ length: 20 }, () => ({ status: STATUS.unavailable }))],
    true,
    late.signal,
  );
  late.abort();
  expect((await reading).ids).toEqual([1]);
});
