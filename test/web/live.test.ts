import { z } from 'zod';

// Only the hooks beside it need preact, which Jest cannot load as CommonJS.
jest.mock('preact/hooks', () => ({}));

interface Handlers {
  on: Record<string, (data: string, id: string) => void>;
  connection(state: string): void;
}

/** Loaded without its types: those of preact bring the browser's along, which do not fit beside Node's. */
const { listen } = z
  .object({ listen: z.custom<(url: string, handlers: Handlers) => () => void>() })
  .parse(jest.requireActual('../../src/web/live'));

/** Stands in for the browser's `EventSource`. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 1;
  onopen?: () => void;
  onerror?: () => void;
  constructor(readonly url: string) {
    super();
    FakeSource.opened.push(this);
  }
  close(): void {
    this.readyState = FakeSource.CLOSED;
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

it('hands on each event with its id, and says how the connection stands', () => {
  const stop = listen('/events', handlers);
  last().onopen?.();
  last().dispatchEvent(new MessageEvent('inbox', { data: '{}', lastEventId: '7' }));
  last().dispatchEvent(new MessageEvent('other', { data: 'x' }));
  expect(received).toEqual([['{}', '7']]);
  expect(states).toEqual(['connecting', 'live']);
  stop();
});

it('leaves a lost connection to the browser', () => {
  const stop = listen('/events', handlers);
  last().fail(false);
  jest.advanceTimersByTime(60_000);
  expect(FakeSource.opened).toHaveLength(1);
  expect(states).toEqual(['connecting', 'lost']);
  stop();
});

it('connects again after an error answer, each time a little later, and soon again once it was live', () => {
  const stop = listen('/events', handlers);
  for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    const before = FakeSource.opened.length;
    last().fail(true);
    jest.advanceTimersByTime(wait - 1);
    expect(FakeSource.opened).toHaveLength(before);
    jest.advanceTimersByTime(1);
    expect(FakeSource.opened).toHaveLength(before + 1);
  }
  last().onopen?.();
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
