import { CountersignError } from '../../src/contract/errors';
import type { InboxSnapshot } from '../../src/server/api';
import type { ServerEvent } from '../../src/server/sse';
import { createErrorFormatter } from '../../src/server/failure';
import { createFeed, type InboxFeed } from '../../src/server/inbox-feed';
import { until } from '../support/until';

/** An inbox that counts how often it is read, and how many read it at once. */
const countedInbox = () => {
  const inbox = { reads: 0, atOnce: 0, most: 0, total: 0, failing: undefined as Error | undefined };
  const read = async (): Promise<InboxSnapshot> => {
    inbox.reads++;
    inbox.most = Math.max(inbox.most, ++inbox.atOnce);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inbox.atOnce--;
    if (inbox.failing !== undefined) throw inbox.failing;
    return { items: [], total: inbox.total, at: new Date().toISOString() };
  };
  return { inbox, read };
};

/** An inbox whose readings end when the test says so, and a feed of little patience over it. */
const silentInbox = () => {
  const inbox = {
    reads: 0,
    answer: (): void => undefined,
    fail: (_error: Error): void => undefined,
  };
  const read = (): Promise<InboxSnapshot> =>
    new Promise((resolve, reject) => {
      inbox.reads++;
      inbox.answer = () => resolve({ items: [], total: 3, at: new Date().toISOString() });
      inbox.fail = reject;
    });
  return {
    inbox,
    feed: createFeed({ read, formatError: createErrorFormatter(() => undefined), intervalMs: 5, slowMs: 5 }),
  };
};

const feedOf = (read: () => Promise<InboxSnapshot>, reported: unknown[] = []): InboxFeed =>
  createFeed({
    read,
    formatError: createErrorFormatter((error) => void reported.push(error)),
    intervalMs: 5,
  });

/** Listens, and keeps each event. */
const listen = (feed: InboxFeed) => {
  const stop = new AbortController();
  const received: ServerEvent[] = [];
  const ended = (async () => {
    for await (const event of feed.listen(stop.signal)) received.push(event);
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
  const { inbox, read } = countedInbox();
  const feed = feedOf(read);
  const listeners = [listen(feed), listen(feed), listen(feed)];
  await until('some readings', () => inbox.reads >= 10);
  inbox.total = 1;
  await until('the change', () => listeners.every(({ received }) => received.length === 2));
  await Promise.all(listeners.map(({ stop }) => stop()));
  expect(inbox.most).toBe(1);
  for (const { received } of listeners)
    expect(received).toMatchObject([
      { event: 'inbox', data: { total: 0 } },
      { event: 'inbox', data: { total: 1 } },
    ]);
});

it('reads nothing before the first listener and after the last one', async () => {
  const { inbox, read } = countedInbox();
  const feed = feedOf(read);
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
  const { inbox: other, read: readOther } = countedInbox();
  const clock = listen(feedOf(readOther));
  await until('the time of some readings', () => other.reads > 5);
  await clock.stop();
  expect(inbox.reads).toBe(after);
});

it('sends a listener that comes back what is there now, not what was there before', async () => {
  const { inbox, read } = countedInbox();
  const feed = feedOf(read);
  const first = listen(feed);
  await until('the first', () => first.received.length === 1);
  await first.stop();
  inbox.total = 7;
  const again = listen(feed);
  await until('the second', () => again.received.length > 0);
  await again.stop();
  expect(again.received).toMatchObject([{ data: { total: 7 } }]);
});

it('sends a late listener what the others already have', async () => {
  const { read } = countedInbox();
  const feed = feedOf(read);
  const first = listen(feed);
  await until('the first', () => first.received.length === 1);
  const later = listen(feed);
  await until('the later one', () => later.received.length === 1);
  await Promise.all([first.stop(), later.stop()]);
  expect(later.received).toEqual(first.received);
});

it('reports trouble once, and its end', async () => {
  const { inbox, read } = countedInbox();
  const feed = feedOf(read);
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
    { event: 'inbox' },
    { event: 'trouble', data: { code: 'no_server', message: 'gone', hint: 'is it up?' } },
    { event: 'inbox' },
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
  expect(listener.received).toMatchObject([trouble, { event: 'inbox', data: { total: 3 } }, trouble]);
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
    { event: 'inbox' },
  ]);
});

it('reports a mistake of ours to the terminal', async () => {
  const { inbox, read } = countedInbox();
  inbox.failing = new Error('our mistake');
  const reported: unknown[] = [];
  const listener = listen(feedOf(read, reported));
  await until('trouble', () => listener.received.length === 1);
  await listener.stop();
  expect(listener.received).toMatchObject([{ event: 'trouble', data: { code: 'unexpected' } }]);
  expect(reported[0]).toBe(inbox.failing);
});

it('gives who reads slowly the newest, and not all that was', async () => {
  const { inbox, read } = countedInbox();
  const feed = feedOf(read);
  const stop = new AbortController();
  const slow = feed.listen(stop.signal);
  await slow.next();
  for (let total = 1; total <= 5; total++) {
    const { reads } = inbox;
    inbox.total = total;
    await until('a reading', () => inbox.reads > reads + 1);
  }
  expect((await slow.next()).value).toMatchObject({ data: { total: 5 } });
  stop.abort();
  expect((await slow.next()).done).toBe(true);
});
