import { listed, listing } from '../listing';
import { listSessions } from '../../../src/client/session/reader';
import type { SessionsQuery } from '../../../src/client/session/types';

/** A namespace with this many sessions of one agent, and then one session of another. */
const among = (others: number) => [
  ...Array.from({ length: others }, (_, index) => session(`theirs-${index}`, 'secret', 5_000 - index)),
  session('mine', 'support', 1),
];
const session = (id: string, agent: string, second: number) =>
  listed(id, second, { session: { agent, state: 'idle', turns: 0, waiting: 0, text: '' } });

const READS: [string, SessionsQuery][] = [
  ['who sees few', { agents: ['support'] }],
  ['of one agent', { agent: 'support' }],
];

describe.each(READS)('a page of sessions for a reader %s', (_case, query) => {
  it('looks at 2,000 at most, says that there are more, and names none that it does not list', async () => {
    const { context, asked } = listing(among(4_500));
    const first = await listSessions(context, query);
    expect(first).toEqual({ sessions: [], older: expect.any(String) });
    expect(asked.looked).toBeLessThanOrEqual(2_001);
    expect(Buffer.from(first.older ?? '', 'base64url').toString()).not.toContain('theirs');
  });

  it('leads page by page to what the reader sees', async () => {
    const { context } = listing(among(4_500));
    const found: string[] = [];
    let pages = 0;
    for (let older: string | null | undefined; older !== null; pages++) {
      const page = await listSessions(context, { ...query, ...(older === undefined ? {} : { older }) });
      found.push(...page.sessions.map((one) => one.session));
      older = page.older;
    }
    expect({ found, pages }).toEqual({ found: ['mine'], pages: 3 });
  });
});

it.each<[string, number, number, string[][]]>([
  ['one after the other', 1, 2, [['s-0', 's-1'], ['s-2', 's-3'], ['s-4']]],
  ['all in one millisecond', 0, 2, [['s-0', 's-1'], ['s-2', 's-3'], ['s-4']]],
  ['on one page', 1, 5, [['s-0', 's-1', 's-2', 's-3', 's-4']]],
])('lists each session once: %s', async (_case, apart, limit, expected) => {
  const { context } = listing(
    Array.from({ length: 5 }, (_, index) => session(`s-${index}`, 'support', 100 - index * apart)),
  );
  const pages: string[][] = [];
  for (let older: string | null | undefined; older !== null;) {
    const page = await listSessions(context, { limit, ...(older === undefined ? {} : { older }) });
    pages.push(page.sessions.map((one) => one.session));
    older = page.older;
  }
  expect(pages).toEqual(expected);
});

it.each(['', 'x', '{}', Buffer.from('{"isOpen":1}').toString('base64url')])(
  'refuses an `older` that no page had: %j',
  async (older) => {
    const { context } = listing([]);
    await expect(listSessions(context, { older })).rejects.toMatchObject({ code: 'usage' });
  },
);
