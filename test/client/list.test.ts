import { listTurns, listTurnsPage, quoted } from '../../src/client/list';
import { listed, listing } from './listing';

test.each([
  ['plain', "'plain'"],
  ["it's", "'it\\'s'"],
  ['back\\slash', "'back\\\\slash'"],
  ["' OR 1=1 --", "'\\' OR 1=1 --'"],
])('%s', (text, expected) => expect(quoted(text)).toBe(expected));

describe('a page of turns for a reader who sees few of them', () => {
  /** Turns that an agent started which the reader does not see, and then one that nobody else led to. */
  const lineage = [{ turn: 't', runId: 'r', callId: '1.1', agent: 'secret' }];
  const turns = [
    ...Array.from({ length: 2_500 }, (_, index) =>
      listed(`theirs-${index}`, 5_000 - index, { prompt: 'p', lineage }),
    ),
    listed('mine', 1, { prompt: 'p' }),
  ];
  const all = turns.map((one) => ({ ...one, searchAttributes: { CountersignAgent: ['support'] } }));

  it('looks at 2,000 at most, and the next page goes on there', async () => {
    const { context, asked } = listing(all);
    const first = await listTurnsPage(context, { agents: ['support'], limit: 10 });
    expect(first).toEqual({ turns: [], older: expect.any(String) });
    expect(asked.looked).toBeLessThan(2_100);
    expect(Buffer.from(first.older ?? '', 'base64url').toString()).not.toContain('theirs');
    const second = await listTurnsPage(context, {
      agents: ['support'],
      limit: 10,
      older: first.older ?? '',
    });
    expect(second).toMatchObject({ turns: [{ turn: 'mine' }], older: null });
  });
});

describe('a workflow that is not a turn and gates calls', () => {
  const mine = (name: string, attributes: object) =>
    listed(
      'order-7',
      1,
      {},
      {
        ...{ type: 'refundOrder', status: { name } },
        searchAttributes: { CountersignAgent: ['refundOrder'], ...attributes },
      },
    );
  const stateOf = async (one: ReturnType<typeof listed>): Promise<string | undefined> =>
    (await listTurns(listing([one]).context, {}))[0]?.state;

  it.each([
    ['RUNNING', {}, 'running'],
    ['RUNNING', { CountersignState: ['waiting'] }, 'waiting'],
    ['COMPLETED', { CountersignState: ['waiting'] }, 'answered'],
    ['COMPLETED', { CountersignState: ['budget'] }, 'budget'],
    ['FAILED', { CountersignState: ['in_doubt'] }, 'failed'],
  ])('that is %s with %p is %s', async (status, attributes, state) => {
    expect(await stateOf(mine(status, attributes))).toBe(state);
  });

  it('has no agents before it, though its memo has no prompt', async () => {
    const [one] = await listTurns(listing([mine('RUNNING', {})]).context, {
      agents: ['refundOrder'],
    });
    expect(one).toMatchObject({ turn: 'order-7', agent: 'refundOrder', prompt: '' });
    expect(one?.callers).toBeUndefined();
  });
});
