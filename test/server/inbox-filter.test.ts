import type { InboxItem, Waiting } from '../../src/client/types';
import { InboxShares } from '../../src/server/inbox-filter';
import type { InboxPageQuery } from '../../src/server/api';
import { inboxItem } from '../cli/support';
import { startProcessorTime } from '../support/processor-time';

const HOUR = 3_600_000;
const from = (ms: number): string => new Date(Date.now() + ms).toISOString();

const doubt = inboxItem({
  turn: 'doubt',
  kind: 'in_doubt',
  tool: 'charge',
  deadline: null,
  since: from(-3 * HOUR),
});
const soon = inboxItem({
  turn: 'soon',
  tool: 'pay',
  agent: 'night',
  deadline: from(HOUR),
  since: from(-HOUR),
});
const later = inboxItem({
  ...{ turn: 'later', tool: 'pay', deadline: from(50 * HOUR), since: from(-2 * HOUR) },
  ...{ summary: '1.1 pay cents=6500', note: '65.00 EUR to Ann', prompt: 'Refund the LAMP', session: 'talk' },
});
const never = inboxItem({ turn: 'never', tool: 'mail', deadline: null, since: from(-HOUR / 2) });
const child = (turn: string): InboxItem =>
  inboxItem({ turn: 'child', lineage: [{ turn, callId: '1.1', agent: 'boss' }] });
const waiting: Waiting = { items: [doubt, soon, later, never], isComplete: true, version: 1 };

/** The inbox of somebody who sees every agent. */
const allSeen = () => new InboxShares().of({ agents: 'all' });

const turnsOf = (rows: readonly InboxItem[]): string[] => rows.map(({ turn }) => turn);

test.each<[InboxPageQuery, string[]]>([
  [{}, ['doubt', 'soon', 'later', 'never']],
  [{ sort: 'newest' }, ['doubt', 'never', 'soon', 'later']],
  [{ doubt: '1' }, ['doubt']],
  [{ tool: 'pay' }, ['soon', 'later']],
  [{ tool: 'pay', agent: 'night' }, ['soon']],
  [{ session: 'talk' }, ['later']],
  [{ session: 'tal' }, []],
  [{ olderThan: 1.5 * HOUR }, ['doubt', 'later']],
  [{ text: 'lamp' }, ['later']],
  [{ text: '  EUR  6500 later/ ' }, ['later']],
  [{ text: 'lamp nowhere' }, []],
  [{ text: 'night' }, ['soon']],
])('%j chooses %j', (query, expected) => {
  const page = allSeen().choose(waiting, query);
  expect(turnsOf(page.rows)).toEqual(expected);
  expect(page).toMatchObject({ matching: expected.length, waiting: 4, doubts: 1, complete: true });
  expect(page.tools).toEqual([
    { name: 'pay', count: 2 },
    { name: 'charge', count: 1 },
    { name: 'mail', count: 1 },
  ]);
});

test.each([
  ['talk.t12', 1],
  ['talk.t', 0],
  ['talk.t1.t1', 0],
  ['talk', 0],
  ['small talk.t1', 0],
])('a child turn of %s is of the session or not', (turn, matching) => {
  const items = [child(turn)];
  expect(allSeen().choose({ ...waiting, items }, { session: 'talk' })).toMatchObject({ matching });
});

test('a part is sent, and all that match are counted', () => {
  const page = allSeen().choose(waiting, { offset: 1, limit: 2 });
  expect([turnsOf(page.rows), page.matching]).toEqual([['soon', 'later'], 4]);
});

test('at most 200 rows are sent', () => {
  const items = Array.from({ length: 1_980 }, (_, n) => inboxItem({ turn: `t${n}` }));
  const page = allSeen().choose({ items, isComplete: true, version: 1 }, {});
  expect([page.rows.length, page.matching]).toEqual([200, 1_980]);
});

test('the key changes with what the page shows, and with nothing else', () => {
  const pages = allSeen();
  const keyOf = (query: InboxPageQuery, inbox = waiting): string => pages.choose(inbox, query).key;
  const before = keyOf({ doubt: '1' });
  expect(keyOf({ doubt: '1' })).toBe(before);
  expect(keyOf({ doubt: '1' }, { ...waiting, version: 2 })).toBe(before);
  expect(keyOf({ doubt: '1' }, { ...waiting, items: [soon, later, never], version: 3 })).not.toBe(before);
  expect(keyOf({ doubt: '1' }, { ...waiting, isComplete: false, version: 4 })).not.toBe(before);
});

test('ten thousand are searched and filtered in a moment', () => {
  const items = Array.from({ length: 10_000 }, (_, n) =>
    inboxItem({ turn: `turn-${n}`, prompt: 'x'.repeat(200), summary: `1.1 pay order=${n}` }),
  );
  const pages = allSeen();
  pages.choose({ items, isComplete: true, version: 1 }, { text: 'warm up' });
  const spent = startProcessorTime();
  expect(pages.choose({ items, isComplete: true, version: 1 }, { text: 'order=9999' }).matching).toBe(1);
  // The figure to hold is 500 ms; a busy machine may need ten times what it takes.
  expect(spent()).toBeLessThan(500);
});

describe('what waits for one person', () => {
  const ruled = (turn: string, roster: string): InboxItem =>
    inboxItem({
      turn,
      voting: { votes: [], needs: { approvals: 1, who: [] }, among: { rosters: [[roster]] } },
    });
  const all = Array.from({ length: 30 }, (_, at) => ruled(`t-${at}`, at % 3 === 0 ? 'ann' : 'group:money'));
  const read: Waiting = { items: [...all, never], isComplete: true, version: 1 };
  const people = (groups: string[]) => [{ name: 'ann', groups, delegates: [] }];
  const pages = allSeen();
  const mine = (groups: string[], query: InboxPageQuery = {}) =>
    pages.choose(read, { mine: '1', ...query }, { person: 'ann', people: people(groups) });

  it('is found on every page, with what no rule is about', () => {
    expect(mine([])).toMatchObject({ matching: 11, waiting: 31 });
    const rows = [0, 4, 8].flatMap((offset) => turnsOf(mine([], { offset, limit: 4 }).rows));
    expect(rows).toEqual([...[0, 3, 6, 9, 12, 15, 18, 21, 24, 27].map((at) => `t-${at}`), 'never']);
  });

  it('follows the groups of the file, without any change of the inbox', () => {
    expect([mine([]), mine(['money']), mine([])].map(({ matching }) => matching)).toEqual([11, 31, 11]);
  });

  it('is each person for themselves', () => {
    const eve = pages.choose(read, { mine: '1' }, { person: 'eve', people: people([]) });
    expect(turnsOf(eve.rows)).toEqual(['never']);
  });
});
