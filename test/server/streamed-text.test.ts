import { NEWS, STREAM, type StreamedText, type TextDelta } from '../../src/contract/streamed-text';
import type { TurnEvent } from '../../src/history/events';
import { TextStore } from '../../src/server/streamed-text';
import { eventsIn, STREAM_TOKEN, useOfflineApp } from './support';

const piece = (more: Partial<StreamedText> = {}): StreamedText => ({
  ...{ namespace: 'default', turn: 't', runId: 'r', step: 1, attempt: 1, scheduledAt: 1_000 },
  ...{ revision: 0, at: 0, text: 'one ' },
  ...more,
});

const step = (more: Partial<TurnEvent> = {}, at = 2_000): TurnEvent =>
  Object.assign(
    {
      ...{ type: 'step', eventId: 9, at: new Date(at).toISOString(), step: 1, text: 'one', model: 'm' },
      ...{ finishReason: 'stop', calls: [] },
    } satisfies TurnEvent,
    more,
  );

/** What a new watcher is given first; undefined where there is nothing yet. */
async function firstOf(store: TextStore, turn = 't'): Promise<TextDelta | undefined> {
  const gone = new AbortController();
  setImmediate(() => gone.abort());
  for await (const delta of store.watch(turn, gone.signal)) return delta;
  return undefined;
}

/** Follows a turn; `next` is what a watcher is given next. */
function watcher(store: TextStore) {
  const gone = new AbortController();
  const deltas = store.watch('t', gone.signal);
  return { next: async () => (await deltas.next()).value ?? undefined, leave: () => gone.abort() };
}

describe('a store', () => {
  let store: TextStore;
  beforeEach(() => (store = new TextStore('default')));

  it('gives a late watcher all of it, and then what is added', async () => {
    await store.take([piece(), piece({ at: 4, text: 'two ' })]);
    const { next, leave } = watcher(store);
    expect(await next()).toMatchObject({ type: 'text', step: 1, attempt: 1, at: 0, text: 'one two ' });
    const later = next();
    await store.take([piece({ at: 8, text: 'three' })]);
    expect(await later).toMatchObject({ at: 8, text: 'three' });
    const never = next();
    leave();
    expect(await never).toBeUndefined();
  });

  it('gives a watcher that reads slowly one longer piece', async () => {
    const { next } = watcher(store);
    const first = next();
    await store.take([piece()]);
    await first;
    for (let word = 0; word < 100; word++) await store.take([piece({ at: 4 + word * 2, text: 'x ' })]);
    expect(await next()).toMatchObject({ at: 4, text: 'x '.repeat(100) });
  });

  test.each<[string, Partial<StreamedText>]>([
    ['a retry', { attempt: 2, scheduledAt: 2_000 }],
    ['the next step', { step: 2, scheduledAt: 2_000 }],
    ['a later step of a burst', { step: 3, from: 2, scheduledAt: 2_000 }],
    ['another run', { runId: 'r2', scheduledAt: 2_000 }],
    ['a reply that differs from its stream', { revision: 1 }],
  ])('begins anew with %s', async (_case, more) => {
    await store.take([piece()]);
    const { next } = watcher(store);
    await next();
    await store.take([piece({ ...more, text: 'another' })]);
    expect(await next()).toMatchObject({ at: 0, text: 'another' });
    expect(await firstOf(store)).toMatchObject({ at: 0, text: 'another' });
  });

  test.each<[string, Partial<StreamedText>, string]>([
    ['what it has already', {}, 'one two'],
    ['a part of what it has', { at: 2, text: 'e tw' }, 'one two'],
    ['an attempt that was given up', { scheduledAt: 500, text: 'old' }, 'one two'],
    ['an earlier revision', { scheduledAt: 999, revision: 9, text: 'old' }, 'one two'],
    ['another namespace', { namespace: 'other', scheduledAt: 9_000, text: 'other' }, 'one two'],
  ])('does not change with %s', async (_case, more, text) => {
    await store.take([piece(), piece({ at: 4, text: 'two' })]);
    expect(await store.take([piece(more)])).toEqual([]);
    expect(await firstOf(store)).toMatchObject({ at: 0, text });
  });

  it('says what it lacks', async () => {
    const gap = { turn: 't', scheduledAt: 1_000, revision: 0 };
    expect(await store.take([piece({ at: 4 })])).toEqual([{ ...gap, at: 0 }]);
    await store.take([piece()]);
    expect(await store.take([piece({ at: 9 })])).toEqual([{ ...gap, at: 4 }]);
  });

  it('drops what stands in history, and takes nothing of it any more', async () => {
    await store.take([piece()]);
    store.note('t', step());
    expect(store.size()).toEqual({ turns: 1, characters: 0 });
    expect(await store.take([piece({ at: 4, text: 'late', done: true })])).toEqual([]);
    expect(await firstOf(store)).toBeUndefined();
    await store.take([piece({ step: 2, scheduledAt: 3_000, text: 'next' })]);
    expect(await firstOf(store)).toMatchObject({ step: 2, text: 'next' });
  });

  test.each<[string, TurnEvent]>([
    ['an earlier step', step({}, 500)],
    ['another kind of event', { type: 'thinking', eventId: 1, at: new Date(2_000).toISOString(), step: 1 }],
  ])('keeps the text after %s', async (_case, event) => {
    await store.take([piece()]);
    store.note('t', event);
    expect(await firstOf(store)).toMatchObject({ text: 'one ' });
  });

  it('keeps no more than its limits, the newest first', async () => {
    const small = new TextStore('default', { turns: 3, characters: 100 });
    for (let turn = 0; turn < 10; turn++) await small.take([piece({ turn: `t${turn}` })]);
    expect(small.size()).toEqual({ turns: 3, characters: 12 });
    await small.take([piece({ turn: 't10', text: 'x'.repeat(95) })]);
    expect(small.size()).toEqual({ turns: 2, characters: 99 });
    expect(await firstOf(small, 't0')).toBeUndefined();
  });

  it('keeps no text longer than a reply can be', async () => {
    const text = 'x'.repeat(STREAM.charactersAtOnce);
    for (let at = 0; at < 10; at++) await store.take([piece({ at: at * text.length, text })]);
    expect(store.size().characters).toBe(STREAM.textBytes);
  });

  it('gives a text again from its start that was dropped for others meanwhile', async () => {
    const small = new TextStore('default', { turns: 1, characters: 1_000 });
    await small.take([piece(), piece({ at: 4, text: 'two' })]);
    const { next } = watcher(small);
    await next();
    await small.take([piece({ turn: 'other' })]);
    expect(await small.take([piece({ at: 7, text: ' three' })])).toMatchObject([{ at: 0 }]);
    await small.take([piece()]);
    expect(await next()).toMatchObject({ at: 0, text: 'one ' });
  });
});

describe('the route', () => {
  const { app, cookie } = useOfflineApp('test');
  const authorization = `Bearer ${STREAM_TOKEN}`;
  const post = (json: unknown, headers: Record<string, string> = { authorization }) =>
    app().ask('/api/stream', { json, headers, without: ['origin', 'sec-fetch-site'] });

  it('takes text from who has the token, and gives it to who has it', async () => {
    expect(await (await post([piece(), piece({ turn: 'u', at: 3 })])).json()).toEqual([
      { turn: 'u', scheduledAt: 1_000, revision: 0, at: 0 },
    ]);
    const response = await app().ask('/api/stream?namespace=default&turn=t', { headers: { authorization } });
    const { value } = await eventsIn(response).next();
    expect(value).toMatchObject({ event: 'text', data: { at: 0, text: 'one ' } });
  });

  test.each<[string, Record<string, string>]>([
    ['no token', {}],
    ['another token', { authorization: 'Bearer the-token-of-the-streaM' }],
    ['an empty one', { authorization: 'Bearer ' }],
    ['one without end', { authorization: `Bearer ${'x'.repeat(5_000)}` }],
    ['another scheme', { authorization: `Basic ${STREAM_TOKEN}` }],
  ])('refuses %s', async (_case, headers) => {
    for (const response of [
      await post([piece()], headers),
      await app().ask('/api/stream?namespace=default&turn=t', { headers }),
    ]) {
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain(STREAM_TOKEN);
    }
    expect(app().texts.size().turns).toBe(0);
  });

  it('refuses the cookie of a person, and the token opens nothing else', async () => {
    expect((await app().ask('/api/stream?namespace=default&turn=t', { cookie: cookie() })).status).toBe(401);
    expect((await app().ask('/api/turns', { headers: { authorization } })).status).toBe(401);
  });

  test.each<[string, unknown, number]>([
    ['no list', piece(), 400],
    ['a piece without a turn', [{ ...piece(), turn: undefined }], 400],
    ['an unknown field', [{ ...piece(), more: 1 }], 400],
    ['a negative place', [piece({ at: -1 })], 400],
    ['a place that is no number', [{ ...piece(), at: 'x' }], 400],
    ['a turn without a name', [piece({ turn: '' })], 400],
    ['too long a piece', [piece({ text: 'x'.repeat(STREAM.charactersAtOnce + 1) })], 400],
    ['too many pieces', Array.from({ length: STREAM.piecesAtOnce + 1 }, () => piece()), 400],
    ['more than a MiB', [piece({ text: 'x'.repeat(1_100_000) })], 413],
  ])('refuses %s', async (_case, body, status) => {
    expect((await post(body)).status).toBe(status);
    expect(app().texts.size().turns).toBe(0);
  });

  it('takes a batch at its limits, whatever the characters', async () => {
    const pieces = Array.from({ length: STREAM.piecesAtOnce }, (_, n) =>
      piece({
        ...{ turn: `turn-${n}-${'x'.repeat(100)}`, runId: 'r'.repeat(36) },
        text: '\u0001'.repeat(STREAM.charactersAtOnce / STREAM.piecesAtOnce),
      }),
    );
    expect((await post(pieces)).status).toBe(200);
    expect(app().texts.size().turns).toBe(STREAM.piecesAtOnce);
  });

  describe('of the news', () => {
    const news = { namespace: 'default', turns: ['t1'] };
    const tell = (json: unknown, headers: Record<string, string> = { authorization }) =>
      app().ask('/api/stream/news', { method: 'POST', json, headers });

    it('takes news from whoever has the token', async () => {
      expect((await tell(news)).status).toBe(204);
      expect((await tell({ ...news, turns: [], isPart: true })).status).toBe(204);
      expect((await tell({ ...news, namespace: 'other' })).status).toBe(204);
    });

    test.each<[string, Record<string, string>]>([
      ['no token', {}],
      ['another token', { authorization: 'Bearer another-token-of-the-stream' }],
      ['another scheme', { authorization: `Basic ${STREAM_TOKEN}` }],
      ['the cookie of a person', { cookie: 'session=1' }],
    ])('refuses %s', async (_case, headers) => {
      expect((await tell(news, headers)).status).toBe(401);
    });

    test.each<[string, unknown, number]>([
      ['no turns', { namespace: 'default' }, 400],
      ['a list', [news], 400],
      ['what waits itself', { ...news, items: [{ turn: 't1', tool: 'pay' }] }, 400],
      ['a turn without a name', { ...news, turns: [''] }, 400],
      ['a turn that is no name', { ...news, turns: [{ $ne: 1 }] }, 400],
      ['too long a name', { ...news, turns: ['x'.repeat(1_001)] }, 400],
      ['too many turns', { ...news, turns: Array.from({ length: NEWS.turnsAtOnce + 1 }, () => 't') }, 400],
      ['more than a MiB', { ...news, turns: ['x'.repeat(1_100_000)] }, 413],
    ])('refuses %s', async (_case, body, status) => {
      expect((await tell(body)).status).toBe(status);
    });
  });

  it('gives nothing of another namespace', async () => {
    const response = await app().ask('/api/stream?namespace=other&turn=t', { headers: { authorization } });
    expect(response.status).toBe(404);
  });
});
