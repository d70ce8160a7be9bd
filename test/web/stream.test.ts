import { z } from 'zod';

interface Handlers {
  on: Record<string, (data: string, id: string) => void>;
  connection(state: string): void;
}

/** Loaded without its types: those of preact bring the browser's along, which do not fit beside Node's. */
const { listen, serverNow, takeServerTime } = z
  .object({
    listen: z.custom<(url: string, handlers: Handlers) => () => void>(),
    serverNow: z.custom<() => number>(),
    takeServerTime: z.custom<(at: string | null, exact: boolean) => void>(),
  })
  .parse(jest.requireActual('../../src/web/stream'));

/** Stands in for the browser's `EventSource`. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 1;
  onerror?: () => void;
  constructor(readonly url: string) {
    super();
    FakeSource.opened.push(this);
  }
  close(): void {
    this.readyState = FakeSource.CLOSED;
  }
  give(event: string, data = '{}', lastEventId = ''): void {
    this.dispatchEvent(new MessageEvent(event, { data, lastEventId }));
  }
  beat(): void {
    this.give('beat', JSON.stringify({ at: new Date().toISOString() }));
  }
  /** Fails, as the browser would after an error answer (`isFinal`) or a lost connection. */
  fail(isFinal: boolean): void {
    if (isFinal) this.close();
    this.onerror?.();
  }
}

let states: string[];
let received: [string, string][];
const handlers: Handlers = {
  on: { inbox: (data, id) => void received.push([data, id]) },
  connection: (state) => void states.push(state),
};
const last = (): FakeSource => {
  const source = FakeSource.opened.at(-1);
  if (source === undefined) throw new Error('nothing was opened');
  return source;
};

beforeEach(() => {
  [states, received, FakeSource.opened] = [[], [], []];
  jest.useFakeTimers();
  Object.defineProperty(globalThis, 'EventSource', { value: FakeSource, configurable: true });
});
afterEach(() => {
  jest.useRealTimers();
  Reflect.deleteProperty(globalThis, 'EventSource');
});

// The first one here, before any beat.
describe('the time of the server', () => {
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();

  it('is that of this machine until it is known, then that of answers, then that of beats', () => {
    expect(serverNow()).toBe(Date.now());
    takeServerTime(at(600_000), false);
    expect(serverNow()).toBe(Date.now() + 600_000);
    takeServerTime('nonsense', false);
    takeServerTime(null, true);
    expect(serverNow()).toBe(Date.now() + 600_000);
    const stop = listen('/events', handlers);
    last().give('beat', JSON.stringify({ at: at(-300_000) }));
    expect(serverNow()).toBe(Date.now() - 300_000);
    takeServerTime(at(600_000), false);
    jest.advanceTimersByTime(10_000);
    expect(serverNow()).toBe(Date.now() - 300_000);
    stop();
  });
});

it('hands on each event with its id, and says how the connection stands', () => {
  const stop = listen('/events', handlers);
  expect(states).toEqual([]);
  last().beat();
  last().give('inbox', '{}', '7');
  last().give('other', 'x');
  expect(received).toEqual([['{}', '7']]);
  expect(states).toEqual(['live']);
  stop();
});

it('leaves a lost connection to the browser', () => {
  const stop = listen('/events', handlers);
  last().fail(false);
  jest.advanceTimersByTime(17_000);
  expect(FakeSource.opened).toHaveLength(1);
  expect(states).toEqual(['lost']);
  last().beat();
  expect(states).toEqual(['lost', 'live']);
  stop();
});

it('takes a stream for lost that is silent for 20 s, and connects again until it is not', () => {
  const stop = listen('/events', handlers);
  for (let beat = 0; beat < 20; beat++) {
    last().beat();
    jest.advanceTimersByTime(5_000);
  }
  expect([states, FakeSource.opened.length]).toEqual([['live'], 1]);
  jest.advanceTimersByTime(15_000);
  expect([states, FakeSource.opened.length]).toEqual([['live', 'lost'], 2]);
  expect(FakeSource.opened[0]?.readyState).toBe(FakeSource.CLOSED);
  jest.advanceTimersByTime(60_000);
  expect(FakeSource.opened.length).toBeGreaterThanOrEqual(5);
  last().give('inbox');
  expect(states.slice(-2)).toEqual(['lost', 'live']);
  stop();
  const opened = FakeSource.opened.length;
  jest.advanceTimersByTime(60_000);
  expect(FakeSource.opened).toHaveLength(opened);
});

it('connects again after an error answer, each time a little later, and soon again once it was live', () => {
  const stop = listen('/events', handlers);
  for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
    const before = FakeSource.opened.length;
    last().fail(true);
    jest.advanceTimersByTime(wait - 1);
    expect(FakeSource.opened).toHaveLength(before);
    jest.advanceTimersByTime(1);
    expect(FakeSource.opened).toHaveLength(before + 1);
  }
  last().beat();
  const before = FakeSource.opened.length;
  last().fail(true);
  jest.advanceTimersByTime(500);
  expect(FakeSource.opened).toHaveLength(before + 1);
  stop();
});

it('stops for good, also while it waits to connect again', () => {
  const stop = listen('/events', handlers);
  last().fail(true);
  stop();
  jest.advanceTimersByTime(60_000);
  expect(FakeSource.opened).toHaveLength(1);
  expect(last().readyState).toBe(FakeSource.CLOSED);
});
