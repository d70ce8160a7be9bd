import { CountersignError } from '../../src/contract/errors';
import { eventStream } from '../../src/server/sse';
import { createErrorFormatter } from '../../src/server/failure';
import { eventsIn } from './support';
import { mostReactions } from '../support/reactions';
import { until } from '../support/until';

type EventSource = Parameters<typeof eventStream>[0];

/** A stream over a generator, and a way to close it. */
const streamOf = (events: EventSource['events'], extra: Partial<EventSource> = {}) => {
  const closing = new AbortController();
  const source = {
    events,
    isAllowed: async () => true,
    closing: closing.signal,
    formatError: createErrorFormatter(() => undefined),
  };
  return { response: eventStream({ ...source, ...extra }), close: () => closing.abort() };
};

/** Gives numbers as fast as they are read, and records its end. */
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

it('writes events in the standard format, each on one line', async () => {
  const text = 'a\nb\r\ndata: x\u2028\n\nevent: y';
  async function* events() {
    yield { event: 'turn', data: { text }, id: 3 };
    yield { event: 'end', data: {} };
  }
  const { response } = streamOf(events);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const [retry, beat, ...rest] = (await response.text()).split('\n\n');
  expect(retry).toBe('retry: 1000');
  expect(beat).toMatch(/^event: beat\ndata: {"at":"[\d-]+T[\d:.]+Z"}$/);
  expect(rest).toEqual([`id: 3\nevent: turn\ndata: ${JSON.stringify({ text })}`, 'event: end\ndata: {}', '']);
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

it('reports trouble and ends, so that the browser connects again', async () => {
  async function* events() {
    yield { event: 'n', data: 1 };
    throw new CountersignError('no_server', 'gone');
  }
  const received: unknown[] = [];
  for await (const event of eventsIn(streamOf(events).response)) received.push(event);
  expect(received).toEqual([
    { event: 'n', data: 1 },
    { event: 'trouble', data: { code: 'no_server', message: 'gone' } },
  ]);
});

it('asks before each event: a person who is signed out gets at most one more, however busy it is', async () => {
  const { state, events } = numbers();
  let welcome = true;
  const received: unknown[] = [];
  for await (const { data } of eventsIn(streamOf(events, { isAllowed: async () => welcome }).response)) {
    received.push(data);
    if (received.length === 3) welcome = false;
  }
  // One was on its way.
  expect(received.length).toBeLessThanOrEqual(4);
  expect(state.ended).toBe(true);
});

describe('in silence', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  async function* silence(signal: AbortSignal) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }

  const read = async (events: EventSource['events'], welcome: boolean) => {
    const { response, close } = streamOf(events, { isAllowed: async () => welcome });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read();
    return { reader, close };
  };

  it('a beat each 5 s says that it lives, and the time', async () => {
    const { reader, close } = await read(silence, true);
    for (let beat = 0; beat < 3; beat++) {
      const next = reader?.read();
      await jest.advanceTimersByTimeAsync(5_000);
      expect((await next)?.value).toBe(`event: beat\ndata: {"at":"${new Date().toISOString()}"}\n\n`);
    }
    close();
  });

  it('it keeps nothing of the checks before', async () => {
    const { reader, close } = await read(silence, true);
    const most = await mostReactions(async () => {
      for (let beat = 0; beat < 4; beat++) {
        const next = reader?.read();
        await jest.advanceTimersByTimeAsync(5_000);
        await next;
      }
    });
    expect(most).toBeLessThan(5);
    close();
  });

  it('it ends within a second for who is signed out by now', async () => {
    const { reader } = await read(silence, false);
    const next = reader?.read();
    await jest.advanceTimersByTimeAsync(1_000);
    expect((await next)?.value).toBeUndefined();
  });
});

it('tells the time among events that come all the time too', async () => {
  jest.useFakeTimers();
  async function* often() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      yield { event: 'n', data: 1 };
    }
  }
  const reader = streamOf(often).response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const texts: unknown[] = [];
  for (let n = 0; n < 30; n++) {
    const next = reader?.read();
    await jest.advanceTimersByTimeAsync(500);
    texts.push((await next)?.value);
  }
  expect(texts.filter((text) => String(text).includes('event: beat')).length).toBeGreaterThanOrEqual(3);
  await reader?.cancel();
  jest.useRealTimers();
});
