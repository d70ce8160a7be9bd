import { join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { InboxItem, InboxQuery } from '../../src/client';
import { keepSending, sendOnce } from '../../src/notify/watch-and-send';
import type { Receiver } from '../../src/notify/notices';
import { createOutbox } from '../../src/notify/outbox';
import { openSent } from '../../src/notify/sent';
import { scratchDirectory } from '../support/scratch';
import { inboxItem } from '../cli/support';

const directory = scratchDirectory();
const stops: AbortController[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop.abort()));

/** A watch of these turns that sends at most `limit` notices in one look, and what happened in it. */
const watchOf = async (turns: string[], { limit, broken = [] }: { limit?: number; broken?: string[] }) => {
  const [sent, notes] = [new Array<string>(), new Array<string>()];
  const seen: number[] = [];
  const stop = new AbortController();
  stops.push(stop);
  const items: InboxItem[] = turns.map((turn) => inboxItem({ turn, deadline: null }));
  const receiver: Receiver = {
    name: 'it',
    deliver: ({ data: { turn } }) => {
      if (broken.includes(turn)) return Promise.reject(new Error('full'));
      sent.push(turn);
      if (sent.length + broken.length === turns.length) stop.abort();
      return Promise.resolve();
    },
    outdated: (open) => {
      seen.push(open.length);
      return Promise.resolve([]);
    },
  };
  const read = () => Promise.reject(new Error('no turn is read by itself here'));
  let version = 0;
  const next = async () => {
    // Looks that are not complete follow without a pause, and files are written in between.
    await turnOfLoop();
    return { items, isComplete: false, version: version++, found: [], doubted: [] };
  };
  const client = {
    inbox: ({ limit: most = 100 }: InboxQuery = {}) => Promise.resolve(items.slice(0, most)),
    inboxReader: () => ({ next, read, forget: () => undefined }),
  };
  const { signal } = stop;
  const note = (line: string): void => void notes.push(line);
  const record = await openSent(join(directory(), 'sent.json'));
  const outbox = createOutbox({
    ...{ receiver, sent: record, note, signal },
    ...(limit === undefined ? {} : { limit }),
  });
  return {
    plan: { client, filter: {}, beforeMs: 0, outboxes: [outbox], note, signal },
    ...{ sent, notes, seen },
  };
};

const FIVE = ['a', 'b', 'c', 'd', 'e'];

it('sends once what the limit allows, says what is left, and fails until nothing is left', async () => {
  const { plan, sent, notes, seen } = await watchOf(FIVE, { limit: 2 });
  await expect(sendOnce(plan)).rejects.toMatchObject({ code: 'failed', data: { left: 3 } });
  expect(notes.at(-1)).toBe('--limit 2 is reached for it; 3 more wait for the next look');
  await expect(sendOnce(plan)).rejects.toMatchObject({ code: 'failed', data: { left: 1 } });
  await sendOnce(plan);
  expect([sent, seen]).toEqual([FIVE, [5, 5, 5]]);
});

it('sends once all that waits, also more than an inbox shows', async () => {
  const turns = Array.from({ length: 150 }, (_, n) => `t-${n}`);
  const { plan, sent } = await watchOf(turns, {});
  await sendOnce(plan);
  expect(sent).toEqual(turns);
});

it('goes on with the notices that the limit left', async () => {
  const { plan, sent } = await watchOf(FIVE, { limit: 2 });
  await keepSending(plan);
  expect(sent).toEqual(FIVE);
});

it('is not kept back by notices that always fail', async () => {
  const { plan, sent } = await watchOf(FIVE, { limit: 2, broken: ['a', 'b'] });
  await keepSending(plan);
  expect(sent).toEqual(['c', 'd', 'e']);
});
