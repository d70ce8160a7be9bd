import { temporal } from '@temporalio/proto';
import { toNumber } from '../../src/history/decode/proto';
import { readIfAlone, readRun } from '../../src/history/read-run';
import { STATUS } from '../../src/history/server-errors';
import { fakeServer, withSigns, type Reply } from './fake-server';

async function read(replies: Reply[], live = true, signal = new AbortController().signal) {
  const { server, asked } = fakeServer(live ? withSigns(replies) : replies);
  const ids: number[] = [];
  for await (const event of readRun(server, { turn: 't', runId: 'r', live, signal }))
    ids.push(toNumber(event.eventId));
  return { ids, asked };
}

const { HistoryEvent } = temporal.api.history.v1;
const scheduled = (eventId: number) =>
  HistoryEvent.fromObject({ eventId, workflowTaskScheduledEventAttributes: {} });
const started = (eventId: number) =>
  HistoryEvent.fromObject({ eventId, workflowTaskStartedEventAttributes: {} });
const signal = (eventId: number) =>
  HistoryEvent.fromObject({ eventId, workflowExecutionSignaledEventAttributes: { signalName: 'approval' } });

test('a workflow task that the server only shows gives its ids to what comes on record first', async () => {
  const { server } = fakeServer(
    withSigns([
      { events: [1, 2, scheduled(3), started(4)], more: true },
      { events: [], more: true },
      { events: [signal(3)], more: true },
      { events: [scheduled(4), started(5)], more: true },
      { events: [6], more: false },
    ]),
  );
  const told: string[] = [];
  const run = { turn: 't', runId: 'r', live: true, signal: new AbortController().signal };
  for await (const { eventId, workflowExecutionSignaledEventAttributes: by } of readRun(server, run))
    told.push(`${toNumber(eventId)}${by ? ' signal' : ''}`);
  expect(told).toEqual(['1', '2', '3 signal', '4', '5', '6']);
});

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
    { token: '', live: false, size: 256 },
    { token: 'token1', live: false, size: 256 },
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
  expect(asked.map((one) => one.token)).toEqual(['', '', 'token2', '', '', '', 'token6', 'token6']);
});

test('a live reader goes on where the time of day jumps ahead while the server is away', async () => {
  let hour = 0;
  const wall = jest.spyOn(Date, 'now').mockImplementation(() => 3_600_000 * hour++);
  const away = { status: STATUS.unavailable };
  const reading = read([{ events: [1], more: true }, away, away, { events: [1, 2], more: false }]);
  await expect(reading.finally(() => wall.mockRestore())).resolves.toMatchObject({ ids: [1, 2] });
});

test.each([
  ['not_found', STATUS.notFound],
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

describe('events that the server leaves out where more come than fit a page', () => {
  test.each<[string, Reply[], number[]]>([
    [
      'between two pages',
      [
        { events: [1, 2, 3], more: true },
        { events: [6, 7], more: true },
        { events: [1, 2, 3, 4, 5, 6, 7], more: true },
        { events: [8], more: false },
      ],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ],
    [
      'within a page, before a workflow task that is only shown',
      [
        { events: [1, 2, scheduled(5)], more: true },
        { events: [1, 2, 3, 4, scheduled(5)], more: true },
        { events: [6], more: false },
      ],
      [1, 2, 3, 4, 5, 6],
    ],
    [
      'twice',
      [
        { events: [1, 3], more: true },
        { events: [1, 2, 3], more: true },
        { events: [5], more: true },
        { events: [1, 2, 3, 4, 5], more: false },
      ],
      [1, 2, 3, 4, 5],
    ],
  ])('%s are read from the start', async (_, replies, expected) => {
    expect((await read(replies)).ids).toEqual(expected);
    expect((await read(replies, false)).ids).toEqual(expected);
  });

  test('at the end of a run are read from the start', async () => {
    const { server } = fakeServer(
      [
        { events: [1, 2], more: false },
        { events: [1, 2, 3, 4], more: false },
      ],
      4,
    );
    const ids: number[] = [];
    const run = { turn: 't', runId: 'r', live: true, signal: new AbortController().signal };
    for await (const { eventId } of readRun(server, run)) ids.push(toNumber(eventId));
    expect(ids).toEqual([1, 2, 3, 4]);
  });

  test('are done without where a second look does not find them', async () => {
    const { ids, asked } = await read(
      [
        { events: [1, 3], more: true },
        { events: [1, 3], more: true },
        { events: [4], more: false },
      ],
      false,
    );
    expect(ids).toEqual([1, 3, 4]);
    expect(asked).toHaveLength(3);
  });
});

describe('a turn that is read by one question', () => {
  const first = (continuedExecutionRunId = '') =>
    HistoryEvent.fromObject({
      eventId: 1,
      workflowExecutionStartedEventAttributes: { continuedExecutionRunId },
    });
  const terminated = HistoryEvent.fromObject({ eventId: 2, workflowExecutionTerminatedEventAttributes: {} });
  const continued = HistoryEvent.fromObject({
    eventId: 2,
    workflowExecutionContinuedAsNewEventAttributes: {},
  });

  test.each<[string, Reply, number[] | undefined]>([
    ['one run, in one page', { events: [first(), 2, 3], more: false }, [1, 2, 3]],
    ['more than a page', { events: [first(), 2], more: true }, undefined],
    ['a page with a gap', { events: [first(), 3], more: false }, undefined],
    ['a run that continues another one', { events: [first('before'), 2], more: false }, undefined],
    [
      'a run that another one may go on from: terminated',
      { events: [first(), terminated], more: false },
      undefined,
    ],
    [
      'a run that another one goes on from: continued',
      { events: [first(), continued], more: false },
      undefined,
    ],
    ['a server that refuses', { status: STATUS.unavailable }, undefined],
    ['a server that does not know it', { status: STATUS.notFound }, undefined],
  ])('%s', async (_, reply, ids) => {
    const { server, asked } = fakeServer([reply]);
    const events = await readIfAlone(server, 't');
    expect(events?.map(({ eventId }) => toNumber(eventId))).toEqual(ids);
    expect(asked).toHaveLength(1);
  });
});
