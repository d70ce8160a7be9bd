import fc from 'fast-check';
import { NEWS, type TurnNews } from '../../src/contract/streamed-text';
import { InboxNews } from '../../src/client/stream-news';
import '../support/properties';

/** A web inbox that may be away, and the news of a worker to it. */
function webInbox() {
  const taken: TurnNews[] = [];
  const state = { isAway: false, tries: 0, most: 0, atOnce: 0 };
  const warnings: string[] = [];
  const send = async (news: TurnNews): Promise<void> => {
    state.tries += 1;
    state.most = Math.max(state.most, ++state.atOnce);
    await Promise.resolve();
    state.atOnce -= 1;
    if (state.isAway) throw new Error('it is away');
    taken.push(news);
  };
  const news = new InboxNews(send, { warn: (line: string) => void warnings.push(line) });
  return { taken, state, warnings, news, named: () => taken.flatMap(({ turns }) => turns) };
}

const note = (news: InboxNews, ...turns: string[]): void => turns.forEach((turn) => news.note(turn));
const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('names a turn a little later, once, and turns that change together in one batch', async () => {
  const { news, taken } = webInbox();
  news.begin('agents');
  await pass(0);
  expect(taken).toEqual([{ namespace: 'agents', turns: [] }]);
  note(news, 'a', 'b', 'a');
  await pass(NEWS.batchMs - 1);
  expect(taken).toHaveLength(1);
  await pass(1);
  expect(taken.slice(1)).toEqual([{ namespace: 'agents', turns: ['a', 'b'] }]);
  note(news, 'a');
  await pass(NEWS.batchMs);
  expect(taken.at(-1)?.turns).toEqual(['a']);
});

it('says that it is there where nothing happens, and nothing before it begins or after its end', async () => {
  const { news, taken, state } = webInbox();
  note(news, 'early');
  await pass(NEWS.beatMs);
  expect(state.tries).toBe(0);
  news.begin('agents');
  await pass(NEWS.batchMs);
  await pass(NEWS.beatMs * 3);
  expect(taken.map(({ turns }) => turns)).toEqual([['early'], [], [], []]);
  news.close();
  await pass(NEWS.beatMs * 3);
  expect(taken).toHaveLength(4);
});

it('leaves out a name that no web inbox takes, and says so', async () => {
  const { news, taken } = webInbox();
  news.begin('agents');
  await pass(0);
  note(news, 'a'.repeat(NEWS.characters), 'b'.repeat(NEWS.characters + 1));
  await pass(NEWS.batchMs);
  expect(taken.slice(1)).toEqual([
    { namespace: 'agents', turns: ['a'.repeat(NEWS.characters)], isPart: true },
  ]);
});

it('names what is left when it ends', async () => {
  const { news, named } = webInbox();
  news.begin('agents');
  await pass(0);
  note(news, 'last');
  news.close();
  await pass(0);
  expect(named()).toEqual(['last']);
});

it('tries again later and later where the web inbox is away, warns once, and then names all', async () => {
  const { news, state, warnings, named } = webInbox();
  state.isAway = true;
  news.begin('agents');
  note(news, 'a');
  await pass(60_000);
  note(news, 'b');
  expect(state.tries).toBeLessThan(10);
  expect(warnings).toEqual(['the web inbox does not hear of new requests from here: it is away']);
  state.isAway = false;
  await pass(15_000);
  expect(named()).toEqual(['a', 'b']);
});

test('however many turns change, and whenever the web inbox is away, all are named or it says that some are not', async () => {
  const act = fc.oneof(
    fc.record({ notes: fc.integer({ min: 1, max: 700 }) }),
    fc.record({ isAway: fc.boolean() }),
    fc.record({ ms: fc.integer({ min: 0, max: 20_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
      const { news, taken, state, named } = webInbox();
      news.begin('agents');
      let count = 0;
      for (const one of acts) {
        if ('notes' in one) for (let n = 0; n < one.notes; n++) news.note(`t${count++}`);
        else if ('ms' in one) await pass(one.ms);
        else state.isAway = one.isAway;
      }
      state.isAway = false;
      await pass(30_000);
      news.close();
      expect(state.most).toBeLessThanOrEqual(1);
      for (const { turns } of taken) expect(turns.length).toBeLessThanOrEqual(NEWS.turnsAtOnce);
      const isAll = new Set(named()).size === count;
      expect(isAll || taken.some(({ isPart }) => isPart === true)).toBe(true);
      expect(new Set(named()).size).toBeGreaterThanOrEqual(Math.min(count, NEWS.turnsKept));
    }),
  );
});
