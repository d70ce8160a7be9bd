import { Ledger } from '../../../bench/scale/ledger';

let ledger: Ledger;

beforeEach(async () => {
  ledger = await Ledger.open();
});

afterEach(() => ledger.close());

const post = (key: string): Promise<Response> => fetch(ledger.url, { method: 'POST', body: key });

it('tells of an effect when it happens, and at once when it has happened', async () => {
  const early = [ledger.until('a'), ledger.until('a')];
  await post('a');
  await Promise.all(early);
  await ledger.until('a');
  expect(ledger.wrong(new Set(['a']))).toEqual([]);
});

it.each([
  [['a', 'b'], ['a', 'b'], []],
  [['a'], ['a', 'b'], ['b']],
  [['a', 'a', 'b'], ['a', 'b'], ['a']],
  [['a', 'b'], ['a'], ['b']],
  [[], [], []],
])('with the effects %j of the decisions %j these are wrong: %j', async (effects, decided, wrong) => {
  for (const key of effects) await post(key);
  expect(ledger.wrong(new Set(decided))).toEqual(wrong);
});
