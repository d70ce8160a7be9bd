import { EVERYTHING, type Permit } from '../../src/authority/rules/permits';
import type { Pauses } from '../../src/authority/pauses/pause';
import { CountersignError } from '../../src/contract/errors';
import type { InboxItem, InboxReader, WaitingStep } from '../../src/client/types';
import type { ServerEvent } from '../../src/server/sse';
import { createErrorFormatter } from '../../src/server/failure';
import { InboxFeed } from '../../src/server/inbox-feed';
import { inboxItem } from '../cli/support';
import { until } from '../support/until';

const nothingPaused = async (): Promise<Pauses> => ({ control: 'open', pauses: [] });

const NO_NEWS = { found: [], doubted: [] };
const pace = (usual: number, told = usual) => ({ usual, told, toldOfMany: told });
const unread = (): never => {
  throw new Error('no turn is read by itself here');
};

/** An inbox that counts how often it is read, and how many read it at once. */
const countedInbox = () => {
  const inbox = {
    ...{ reads: 0, atOnce: 0, most: 0, total: 0, looked: [] as string[] },
    forgotten: [] as string[],
    /** How much waits once a turn was read by itself; and what visibility says beside what waits. */
    ...{ named: 0, found: [] as string[], doubted: [] as string[] },
    failing: undefined as Error | undefined,
  };
  const next = async (): Promise<WaitingStep> => {
    inbox.reads++;
    inbox.most = Math.max(inbox.most, ++inbox.atOnce);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inbox.atOnce--;
    if (inbox.failing !== undefined) throw inbox.failing;
    const { total, found, doubted } = inbox;
    return { items: itemsOf(total), isComplete: true, version: total, found, doubted };
  };
  const read = async (turn: string) => {
    inbox.looked.push(turn);
    const isChanged = inbox.named !== inbox.total;
    inbox.total = inbox.named;
    return { waiting: { items: itemsOf(inbox.total), isComplete: true, version: inbox.total }, isChanged };
  };
  const reader = (): InboxReader => ({ next, read, forget: (turn) => void inbox.forgotten.push(turn) });
  return { inbox, reader };
};

const itemsOf = (total: number): InboxItem[] =>
  Array.from({ length: total }, (_, n) => inboxItem({ turn: `t${n}` }));

/** An inbox whose readings end when the test says so, and a feed of little patience over it. */
const silentInbox = () => {
  const inbox = {
    reads: 0,
    answer: (): void => undefined,
    fail: (_error: Error): void => undefined,
  };
  const next = (): Promise<WaitingStep> =>
    new Promise((resolve, reject) => {
      inbox.reads++;
      inbox.answer = () => resolve({ items: itemsOf(3), isComplete: true, version: 1, ...NO_NEWS });
      inbox.fail = reject;
    });
  const parts = {
    client: { inboxReader: () => ({ next, read: unread, forget: () => undefined }), pauses: nothingPaused },
    formatError: createErrorFormatter(() => undefined),
  };
  return {
    inbox,
    feed: new InboxFeed({ ...parts, pace: pace(5), slowMs: 5, lingerMs: 0, closing: newClosing() }),
  };
};

const opened: AbortController[] = [];
const newClosing = (): AbortSignal => {
  const closing = new AbortController();
  opened.push(closing);
  return closing.signal;
};
afterAll(() => opened.forEach((one) => one.abort()));

interface FeedOptions {
  pace?: ReturnType<typeof pace>;
  reported?: unknown[];
  lingerMs?: number;
  pauses?: () => Promise<Pauses>;
}

const feedOf = (
  reader: () => InboxReader,
  { reported = [], lingerMs = 0, pauses = nothingPaused, pace: given = pace(5) }: FeedOptions = {},
): InboxFeed =>
  new InboxFeed({
    ...{ client: { inboxReader: reader, pauses }, pace: given, lingerMs, closing: newClosing() },
    formatError: createErrorFormatter((error) => void reported.push(error)),
  });

/** Listens, and keeps each event. */
const listen = (feed: InboxFeed, permit: Permit = EVERYTHING) => {
  const stop = new AbortController();
  const received: ServerEvent[] = [];
  const ended = (async () => {
    for await (const event of feed.listen(stop.signal, permit)) received.push(event);
  })();
  return {
    received,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
};

it('reads once for all who listen, one read at a time, and sends only what changed', async () => {
  const { inbox, reader } = countedInbox();
  const feed = feedOf(reader);
  const listeners = [listen(feed), listen(feed), listen(feed)];
  await until('some readings', () => inbox.reads >= 10);
  inbox.total = 1;
  await until('the change', () => listeners.every(({ received }) => received.length === 2));
  await Promise.all(listeners.map(({ stop }) => stop()));
  expect(inbox.most).toBe(1);
  for (const { received } of listeners)
    expect(received).toMatchObject([
      { event: 'waiting', data: { waiting: 0 } },
      { event: 'waiting', data: { waiting: 1 } },
    ]);
});

const PAUSE = { id: '1', at: '2026-01-01T00:00:00Z', reason: 'x', by: 'ann' };

it.each<[string, Pauses, unknown]>([
  [
    'a pause',
    { control: 'open', pauses: [{ ...PAUSE, tool: 'pay' }] },
    { text: 'ann paused calls of pay since 2026-01-01 00:00 UTC: x', of: { tool: 'pay' } },
  ],
  [
    'that the workflow of the pauses was closed',
    { control: 'closed', pauses: [] },
    { text: expect.stringContaining('was closed') },
  ],
  [
    'that the pauses cannot be read',
    { control: 'unreadable', pauses: [] },
    { text: expect.stringContaining('cannot be read') },
  ],
])('sends %s, though nothing else changed, and to whoever comes later', async (_, pauses, held) => {
  const { reader } = countedInbox();
  const feed = feedOf(reader, { pauses: async () => pauses });
  const [first, second] = [listen(feed), listen(feed)];
  await until('both', () => first.received.length > 0 && second.received.length > 0);
  await Promise.all([first.stop(), second.stop()]);
  for (const { received } of [first, second])
    expect(received).toMatchObject([{ event: 'waiting', data: { waiting: 0, paused: [held] } }]);
});

it('says nothing of pauses where there are none', async () => {
  const listener = listen(feedOf(countedInbox().reader));
  await until('the first', () => listener.received.length > 0);
  await listener.stop();
  expect(listener.received[0]?.data).not.toHaveProperty('paused', expect.anything());
});

it('reports that the pauses cannot be asked as trouble', async () => {
  const failing = async (): Promise<Pauses> => {
    throw new CountersignError('no_server', 'no Temporal server answers');
  };
  const listener = listen(feedOf(countedInbox().reader, { pauses: failing }));
  await until('the first', () => listener.received.length > 0);
  await listener.stop();
  expect(listener.received).toMatchObject([{ event: 'trouble', data: { code: 'no_server' } }]);
});

it('reads nothing before the first listener and after the last one', async () => {
  const { inbox, reader } = countedInbox();
  const feed = feedOf(reader);
  feed.refresh();
  expect(inbox.reads).toBe(0);
  const [first, second] = [listen(feed), listen(feed)];
  await until('a reading', () => first.received.length > 0 && second.received.length > 0);
  await first.stop();
  const before = inbox.reads;
  await until('further readings', () => inbox.reads > before + 2);
  await second.stop();
  await until('the last reading', () => inbox.atOnce === 0);
  const after = inbox.reads;
  // Another feed of the same pace is the clock.
  const { inbox: other, reader: readOther } = countedInbox();
  const clock = listen(feedOf(readOther));
  await until('the time of some readings', () => other.reads > 5);
  await clock.stop();
  expect(inbox.reads).toBe(after);
});

it('sends a listener that comes back what is there now, not what was there before', async () => {
  const { inbox, reader } = countedInbox();
  const feed = feedOf(reader);
  const first = listen(feed);
  await until('the first', () => first.received.length === 1);
  await first.stop();
  inbox.total = 7;
  const again = listen(feed);
  await until('the second', () => again.received.length > 0);
  await again.stop();
  expect(again.received).toMatchObject([{ data: { waiting: 7 } }]);
});

it('sends a late listener what the others already have', async () => {
  const { reader } = countedInbox();
  const feed = feedOf(reader);
  const first = listen(feed);
  await until('the first', () => first.received.length === 1);
  const later = listen(feed);
  await until('the later one', () => later.received.length === 1);
  await Promise.all([first.stop(), later.stop()]);
  expect(later.received).toEqual(first.received);
});

it('reports trouble once, and its end', async () => {
  const { inbox, reader } = countedInbox();
  const feed = feedOf(reader);
  const listener = listen(feed);
  await until('the first', () => listener.received.length === 1);
  inbox.failing = new CountersignError('no_server', 'gone', { hint: 'is it up?' });
  await until('trouble', () => listener.received.length === 2);
  const reads = inbox.reads;
  await until('more trouble', () => inbox.reads > reads + 3);
  inbox.failing = undefined;
  await until('its end', () => listener.received.length === 3);
  await listener.stop();
  expect(listener.received).toMatchObject([
    { event: 'waiting' },
    { event: 'trouble', data: { code: 'no_server', message: 'gone', hint: 'is it up?' } },
    { event: 'waiting' },
  ]);
});

it('reports a slow read before it ends, and then its result', async () => {
  const { inbox, feed } = silentInbox();
  const listener = listen(feed);
  await until('trouble', () => listener.received.length === 1);
  expect(inbox.reads).toBe(1);
  inbox.answer();
  await until('trouble with the next one', () => listener.received.length === 3);
  await listener.stop();
  const trouble = { event: 'trouble', data: { code: 'no_server', hint: expect.any(String) } };
  expect(listener.received).toMatchObject([trouble, { event: 'waiting', data: { waiting: 3 } }, trouble]);
});

it('answers a page with the result of a slow first read, and not with the trouble of its listeners', async () => {
  const { inbox, feed } = silentInbox();
  const listener = listen(feed);
  const page = feed.page({}, EVERYTHING);
  await until('trouble', () => listener.received.length === 1);
  inbox.answer();
  expect(await page).toMatchObject({ waiting: 3 });
  await listener.stop();
});

it('does not report a slow read while trouble is already reported', async () => {
  const { inbox, feed } = silentInbox();
  const listener = listen(feed);
  await until('trouble', () => listener.received.length === 1);
  inbox.fail(new CountersignError('no_server', 'gone'));
  await until('the next reading', () => inbox.reads === 2);
  // Another feed of the same patience is the clock.
  const clock = listen(silentInbox().feed);
  await until('the time after which a read is slow', () => clock.received.length === 1);
  inbox.answer();
  await until('the answer', () => listener.received.length >= 3);
  await Promise.all([listener.stop(), clock.stop()]);
  expect(listener.received.slice(1, 3)).toMatchObject([
    { event: 'trouble', data: { message: 'gone' } },
    { event: 'waiting' },
  ]);
});

it('reports a mistake of ours to the terminal', async () => {
  const { inbox, reader } = countedInbox();
  inbox.failing = new Error('our mistake');
  const reported: unknown[] = [];
  const listener = listen(feedOf(reader, { reported }));
  await until('trouble', () => listener.received.length === 1);
  await listener.stop();
  expect(listener.received).toMatchObject([{ event: 'trouble', data: { code: 'unexpected' } }]);
  expect(reported[0]).toBe(inbox.failing);
});

it('gives who reads slowly the newest, and not all that was', async () => {
  const { inbox, reader } = countedInbox();
  const feed = feedOf(reader);
  const stop = new AbortController();
  const slow = feed.listen(stop.signal, EVERYTHING);
  await slow.next();
  for (let total = 1; total <= 5; total++) {
    const { reads } = inbox;
    inbox.total = total;
    await until('a reading', () => inbox.reads > reads + 1);
  }
  expect((await slow.next()).value).toMatchObject({ data: { waiting: 5 } });
  stop.abort();
  expect((await slow.next()).done).toBe(true);
});

it('goes on reading for a while after the last one left, and has it all for who comes back', async () => {
  const { inbox, reader } = countedInbox();
  const feed = feedOf(reader, { lingerMs: 60_000 });
  const first = listen(feed);
  await until('the first', () => first.received.length === 1);
  await first.stop();
  const { reads } = inbox;
  await until('further readings', () => inbox.reads > reads + 3);
  inbox.failing = new CountersignError('no_server', 'gone');
  await until('a failure', () => inbox.reads > reads + 6);
  expect(await feed.page({}, EVERYTHING)).toMatchObject({ waiting: 0, complete: true });
});

it('answers with a part as soon as something is read, and with nothing where it was seen', async () => {
  const { inbox, reader } = countedInbox();
  inbox.total = 3;
  const feed = feedOf(reader, { lingerMs: 60_000 });
  const page = await feed.page({ limit: 2 }, EVERYTHING);
  expect(page).toMatchObject({ matching: 3, waiting: 3, rows: [{ turn: 't0' }, { turn: 't1' }] });
  const seen = page?.key ?? '';
  expect(await feed.page({ limit: 2, seen }, EVERYTHING)).toBeUndefined();
  expect(await feed.page({ limit: 1, seen }, EVERYTHING)).toMatchObject({ rows: [{ turn: 't0' }] });
  inbox.total = 4;
  await until('the change', async () => (await feed.page({ limit: 2, seen }, EVERYTHING)) !== undefined);
});

it('says why, where nothing could be read yet', async () => {
  const { inbox, reader } = countedInbox();
  inbox.failing = new CountersignError('no_server', 'gone');
  await expect(feedOf(reader).page({}, EVERYTHING)).rejects.toBe(inbox.failing);
});

it('waits as long as the server is to rest, and says how long', async () => {
  const { inbox, reader } = countedInbox();
  inbox.failing = new CountersignError('server_busy', 'too often', { data: { retryInMs: 60_000 } });
  const feed = feedOf(reader);
  const listener = listen(feed);
  await until('trouble', () => listener.received.length === 1);
  expect(listener.received).toMatchObject([
    { event: 'trouble', data: { code: 'server_busy', retryInMs: 60_000 } },
  ]);
  expect(inbox.reads).toBe(1);
  inbox.failing = undefined;
  feed.refresh();
  await until('the end of trouble', () => listener.received.length === 2);
  await listener.stop();
});

describe('where turns are named', () => {
  const HOUR = 3_600_000;
  const namespace = 'default';
  /** A feed that reads visibility once, and a listener that has what was read. */
  const once = async (over: Partial<ReturnType<typeof pace>> = {}) => {
    const { inbox, reader } = countedInbox();
    const feed = feedOf(reader, { pace: { ...pace(HOUR), ...over }, lingerMs: HOUR });
    const listener = listen(feed);
    await until('the first', () => listener.received.length === 1);
    return { inbox, feed, listener };
  };

  it.each<[string, (feed: InboxFeed) => void]>([
    ['a worker named', (feed) => feed.hear({ namespace, turns: ['t1'] })],
    ['a decision was sent on', (feed) => feed.refresh('t1')],
  ])('shows at once what changed in a turn that %s, without visibility', async (_, name) => {
    const { inbox, feed, listener } = await once();
    inbox.named = 2;
    name(feed);
    await until('the change', () => listener.received.length === 2);
    expect(listener.received[1]).toMatchObject({ event: 'waiting', data: { waiting: 2 } });
    expect(inbox).toMatchObject({ reads: 1, looked: ['t1'] });
    await listener.stop();
  });

  it('shows a turn that was named while visibility cannot be read, and still says so, and since when', async () => {
    const { inbox, feed, listener } = await once();
    const stranger = listen(feed, { role: 'admin', agents: ['another'] });
    inbox.failing = new CountersignError('server_busy', 'too often', { data: { retryInMs: HOUR } });
    feed.refresh();
    await until('trouble', () => listener.received.length === 2);
    inbox.named = 1;
    feed.hear({ namespace, turns: ['t1'] });
    await until('the change', () => listener.received.length === 3);
    const [first, , change] = listener.received;
    const { at } = Object(first?.data);
    expect(change).toMatchObject({
      event: 'waiting',
      data: { waiting: 1, at, trouble: { code: 'server_busy', retryInMs: HOUR } },
    });
    expect(await feed.page({}, EVERYTHING)).toMatchObject({ waiting: 1, at });
    await expect(feed.whole(0)).rejects.toBe(inbox.failing);
    const late = listen(feed);
    await until('the late one', () => late.received.length === 1);
    expect(late.received).toEqual([change]);
    inbox.failing = undefined;
    feed.refresh();
    await until('its end', () => listener.received.length === 4);
    expect(listener.received[3]).toMatchObject({ event: 'waiting', data: { waiting: 1 } });
    expect(listener.received[3]?.data).not.toHaveProperty('trouble', expect.anything());
    await Promise.all([listener, stranger, late].map(({ stop }) => stop()));
    // Who may not see the turn hears of the trouble alone.
    expect(stranger.received).toMatchObject([
      { event: 'waiting' },
      { event: 'trouble' },
      { event: 'waiting' },
    ]);
  });

  it('keeps what was read of a turn while the pauses were read', async () => {
    const { inbox, reader } = countedInbox();
    let answer = (_: Pauses): void => undefined;
    const pauses = () => new Promise<Pauses>((resolve) => (answer = resolve));
    const feed = feedOf(reader, { pace: pace(HOUR), lingerMs: HOUR, pauses });
    const listener = listen(feed);
    await until('the end of the read', () => inbox.reads === 1 && inbox.atOnce === 0);
    inbox.named = 2;
    feed.hear({ namespace, turns: ['t1'] });
    await until('the change', () => listener.received.length === 1);
    answer({ control: 'open', pauses: [] });
    await new Promise(setImmediate);
    inbox.named = 3;
    feed.hear({ namespace, turns: ['t1'] });
    await until('the next change', () => listener.received.length > 1);
    await listener.stop();
    expect(listener.received).toMatchObject([{ data: { waiting: 2 } }, { data: { waiting: 3 } }]);
  });

  it('reads everything again where that was asked for during a read', async () => {
    const { inbox, reader } = countedInbox();
    const feed = feedOf(reader, { pace: pace(HOUR), lingerMs: HOUR });
    const listener = listen(feed);
    await until('the read', () => inbox.atOnce === 1);
    feed.refresh();
    await until('the next read', () => inbox.reads === 2);
    await listener.stop();
  });

  it('leaves a turn to visibility that it will not read', async () => {
    const { inbox, feed, listener } = await once();
    feed.hear({ namespace, turns: Array.from({ length: 502 }, (_, n) => `t${n}`) });
    expect(inbox.forgotten).toEqual(['t500', 't501']);
    await listener.stop();
  });

  it('reads visibility as usual where named turns are late', async () => {
    const { inbox, feed, listener } = await once({ usual: 5 });
    inbox.named = inbox.total;
    feed.hear({ namespace, turns: Array.from({ length: 200 }, (_, n) => `t${n}`) });
    await until('the end of the reading', () => inbox.atOnce === 0);
    const before = inbox.reads;
    await until('further readings', () => inbox.reads > before + 5);
    expect(inbox.forgotten).toEqual([]);
    await listener.stop();
  });

  it('reads visibility as usual until a worker speaks, and then seldom', async () => {
    const { inbox, feed, listener } = await once({ usual: 5 });
    await until('some readings', () => inbox.reads > 3);
    feed.hear({ namespace, turns: [] });
    await until('the end of the reading', () => inbox.atOnce === 0);
    const before = inbox.reads;
    // Another feed of the usual pace is the clock.
    const clock = await once({ usual: 5 });
    await until('the time of some readings', () => clock.inbox.reads > 10);
    expect(inbox.reads).toBeLessThanOrEqual(before + 1);
    await Promise.all([listener.stop(), clock.listener.stop()]);
  });

  it('reads a turn by itself of which visibility knows something else', async () => {
    const { inbox, feed, listener } = await once();
    inbox.doubted = ['t7'];
    feed.refresh();
    await until('the read', () => inbox.looked.length > 0);
    expect(inbox.looked).toEqual(['t7']);
    await listener.stop();
  });

  it('reads nothing where nobody looks', async () => {
    const { inbox, reader } = countedInbox();
    const feed = feedOf(reader);
    feed.hear({ namespace, turns: ['t1'] });
    const listener = listen(feed);
    await until('the first', () => listener.received.length === 1);
    expect(inbox.looked).toEqual([]);
    await listener.stop();
  });
});
