import { CountersignError } from '../../src/contract/errors';
import { eventStream, type EventSource } from '../../src/server/events';
import { createTell } from '../../src/server/failure';
import { until } from '../support/worker';
import { eventsIn } from './support';

/** A stream over a generator, and what became of it. */
const streamOf = (events: EventSource['events'], extra: Partial<EventSource> = {}) => {
  const closing = new AbortController();
  const source = {
    events,
    isWelcome: async () => true,
    closing: closing.signal,
    tell: createTell(() => undefined),
  };
  return { response: eventStream({ ...source, ...extra }), close: () => closing.abort() };
};

/** Gives numbers as fast as they are taken, and tells when it ended. */
const numbers = () => {
  const state = { given: 0, ended: false };
  async function* events(signal: AbortSignal) {
    try {
      while (!signal.aborted) yield { event: 'n', data: state.given++, id: state.given };
    } finally {
      state.ended = true;
    }
  }
  return { state, events };
};

it('tells events in the words of the standard, on one line each', async () => {
  const text = 'a\nb\r\ndata: x\u2028\n\nevent: y';
  async function* events() {
    yield { event: 'turn', data: { text }, id: 3 };
    yield { event: 'end', data: {} };
  }
  const { response } = streamOf(events);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(await response.text()).toBe(
    `retry: 1000\n\nid: 3\nevent: turn\ndata: ${JSON.stringify({ text })}\n\nevent: end\ndata: {}\n\n`,
  );
});

it('gives no faster than it is read', async () => {
  const { state, events } = numbers();
  const reader = streamOf(events).response.body?.getReader();
  expect(state.given).toBe(0);
  for (let n = 0; n < 3; n++) await reader?.read();
  expect(state.given).toBeLessThanOrEqual(3);
  await reader?.cancel();
});

it.each([
  ['the reader goes', true],
  ['the server closes', false],
])('ends what it reads when %s', async (_when, reader) => {
  const { state, events } = numbers();
  const { response, close } = streamOf(events);
  const stream = eventsIn(response);
  await stream.next();
  if (!reader) close();
  for await (const _ of stream) if (reader) break;
  await until('its end', () => state.ended);
});

it('begins nothing for HEAD', async () => {
  const { state, events } = numbers();
  streamOf(events);
  await new Promise((resolve) => setImmediate(resolve));
  expect(state).toEqual({ given: 0, ended: false });
});

it('tells trouble and ends, so that the browser comes back', async () => {
  async function* events() {
    yield { event: 'n', data: 1 };
    throw new CountersignError('no_server', 'gone');
  }
  const told: unknown[] = [];
  for await (const event of eventsIn(streamOf(events).response)) told.push(event);
  expect(told).toEqual([
    { event: 'n', data: 1 },
    { event: 'trouble', data: { code: 'no_server', message: 'gone' } },
  ]);
});

describe('in silence', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  async function* silence(signal: AbortSignal) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }

  it.each([
    ['a heartbeat keeps it open', true, ': still here\n\n'],
    ['it ends for who is signed out by now', false, undefined],
  ])('%s', async (_what, welcome, next) => {
    const { response, close } = streamOf(silence, { isWelcome: async () => welcome });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read();
    const read = reader?.read();
    await jest.advanceTimersByTimeAsync(15_000);
    expect((await read)?.value).toBe(next);
    close();
  });
});
