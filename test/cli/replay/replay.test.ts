import type { RunQuery } from '../../../src/client';
import { asQueryMistake, newestRuns, runsToReplay } from '../../../src/cli/replay/replay';

const listing = (...turns: string[]) => ({
  runs: async function* () {
    for (const [at, turn] of turns.entries()) yield { turn, runId: `r${at}`, startedAt: '', open: false };
  },
});

it.each<[name: string, listed: string[], most: number, taken: string[]]>([
  ['no turn', [], 2, []],
  ['fewer than may be', ['a'], 2, ['r0']],
  ['the newest', ['a', 'b', 'c'], 2, ['r0', 'r1']],
  ['a turn of several runs once', ['a', 'a', 'b', 'a', 'c'], 2, ['r0', 'r1', 'r2', 'r3']],
  ['no run behind the last turn', ['a', 'b', 'a'], 1, ['r0']],
])('takes %s', async (_, listed, most, taken) => {
  const runs = await newestRuns(listing(...listed), {}, most);
  expect(runs.map(({ runId }) => runId)).toEqual(taken);
});

it.each<[string, object, string[]]>([
  ['pauses and grants first', {}, ['of control', 'of turns']],
  ['only what a query finds', { query: 'of turns' }, ['of turns']],
  ['only workflows of your own', { workflows: 'mine.ts' }, ['of turns']],
])('replays %s', async (_, options, expected) => {
  const client = {
    runs: async function* ({ query = '' }: RunQuery = {}) {
      const turn = query.includes('countersignControl') ? 'of control' : 'of turns';
      yield { turn, runId: 'r', startedAt: '', open: false };
    },
  };
  const runs = await runsToReplay(client, options, 200);
  expect(runs.map(({ turn }) => turn)).toEqual(expected);
});

const grpc = (code: number) =>
  Object.assign(new Error('x'), { code, details: 'syntax error near "="', metadata: {} });

it('a query that the server does not understand is a mistake, in its words', () => {
  expect(asQueryMistake(new Error('listing', { cause: grpc(3) }), 'a ==')).toMatchObject({
    code: 'usage',
    message: '--query a ==: syntax error near "="',
  });
});

it.each<[string, unknown, string | undefined]>([
  ['a query of our own', grpc(3), undefined],
  ['a server that is away', grpc(14), 'a = 1'],
  ['anything else', new Error('x'), 'a = 1'],
])('%s stays what it is', (_, error, query) => {
  expect(asQueryMistake(error, query)).toBe(error);
});
