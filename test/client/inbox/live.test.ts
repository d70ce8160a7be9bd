import type { InboxItem } from '../../../src/client';
import {
  changesBetween,
  type InboxLook,
  retryWhileUnavailable,
  watchInbox,
} from '../../../src/client/inbox/live';
import { CountersignError } from '../../../src/contract/errors';
import { mostReactions } from '../../support/reactions';
import { withoutWaits } from '../../support/without-waits';
import { inboxItem } from '../../cli/support';

const item = (turn: string, extra: Partial<InboxItem> = {}): InboxItem => inboxItem({ turn, ...extra });
const away = new CountersignError('no_server', 'nobody answers');
const NO_NEWS = { found: [], doubted: [] };
const read = () => Promise.reject(new Error('no turn is read by itself here'));
const silent = { next: () => new Promise<never>(() => undefined), read, forget: () => undefined };
const broken = new CountersignError('not_ready', 'no attributes');

/** An inbox that is each of these in turn. */
const client = (...looks: (InboxItem[] | Error)[]) => {
  const inbox = async (): Promise<InboxItem[]> => {
    const look = looks.shift() ?? [];
    if (look instanceof Error) throw look;
    return look;
  };
  let version = 0;
  const next = async () => ({ items: await inbox(), isComplete: true, version: version++, ...NO_NEWS });
  return { inbox, inboxReader: () => ({ next, read, forget: () => undefined }) };
};

describe('looking at the inbox', () => {
  const watch = async (from: ReturnType<typeof client>, count: number): Promise<InboxLook[]> => {
    const stop = new AbortController();
    const looks: InboxLook[] = [];
    for await (const look of watchInbox(from, {}, stop.signal)) {
      if (looks.push(look) === count) stop.abort();
    }
    return looks;
  };

  it('goes on while the server is away', async () => {
    expect(await withoutWaits(() => watch(client([item('a')], away, [item('b')]), 3))).toEqual([
      { items: [item('a')] },
      { away: 'nobody answers' },
      { items: [item('b')] },
    ]);
  });

  it('says that the server limits reading and when it tries again, and then goes on', async () => {
    const busy = new CountersignError('server_busy', 'too often', { data: { retryInMs: 1200 } });
    expect(await withoutWaits(() => watch(client([item('a')], busy, [item('a')]), 3))).toEqual([
      { items: [item('a')] },
      { away: 'Temporal limits reading; next try in 2 s' },
      { items: [item('a')] },
    ]);
  });

  it('ends with what no waiting cures', async () => {
    await expect(watch(client(broken), 1)).rejects.toBe(broken);
  });

  it('ends at once when it is asked to, in the middle of a look too', async () => {
    const stop = new AbortController();
    const looks = watchInbox({ inboxReader: () => silent }, {}, stop.signal);
    const next = looks.next();
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('keeps nothing of the looks before', async () => {
    const stop = new AbortController();
    // A look that is not complete is followed by the next one without a pause.
    const next = async () => ({ items: [], isComplete: false, version: 0, ...NO_NEWS });
    const reader = { next, read, forget: () => undefined };
    const looks = watchInbox({ inboxReader: () => reader }, {}, stop.signal);
    const most = await mostReactions(async () => {
      for (let n = 0; n < 20; n++) await looks.next();
    });
    expect(most).toBeLessThan(5);
    stop.abort();
  });
});

describe('what came and went', () => {
  it.each<[string, InboxItem[], InboxItem[], string[]]>([
    ['nothing', [item('a')], [item('a')], []],
    ['one came', [], [item('a')], ['new a']],
    ['one went, one came', [item('a')], [item('b')], ['gone a', 'new b']],
    ['it was asked anew', [item('a')], [item('a', { callKey: 'k2' })], ['gone a', 'new a']],
    ['it got in doubt', [item('a')], [item('a', { kind: 'in_doubt' })], ['gone a', 'new a']],
    ['its summary changed', [item('a')], [item('a', { summary: 'x' })], []],
  ])('%s', (_name, before, after, changes) => {
    expect(changesBetween(before, after).map(({ change, item: { turn } }) => `${change} ${turn}`)).toEqual(
      changes,
    );
  });
});

describe('insisting', () => {
  const told: string[] = [];
  const patience = (signal = new AbortController().signal) => ({
    note: (text: string) => void told.push(text),
    signal,
  });
  beforeEach(() => void told.splice(0));

  it('asks again while the server is away, and tells of it once', async () => {
    const { inbox } = client(away, away, [item('a')]);
    expect(await retryWhileUnavailable(inbox, patience())).toEqual([item('a')]);
    expect(told).toEqual([expect.stringContaining('does not answer'), 'the server is back']);
  });

  it('says nothing where all is well', async () => {
    await retryWhileUnavailable(client([]).inbox, patience());
    expect(told).toEqual([]);
  });

  it('hands on what no waiting cures', async () => {
    await expect(retryWhileUnavailable(client(broken).inbox, patience())).rejects.toBe(broken);
  });

  it('ends when it is asked to', async () => {
    const stop = new AbortController();
    const insisting = retryWhileUnavailable(() => Promise.reject(away), patience(stop.signal));
    stop.abort();
    await expect(insisting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
