import { Ledger } from '../../../bench/scale/ledger';

let ledger: Ledger;

beforeEach(async () => {
  ledger = await Ledger.open();
});

afterEach(() => ledger.close());

const post = (body: string): Promise<Response> => fetch(ledger.url, { method: 'POST', body });

it('tells of an effect when it happens, and at once when it has happened', async () => {
  const early = [ledger.until('a'), ledger.until('a')];
  await post('a 1');
  await Promise.all(early);
  await ledger.until('a');
  expect(ledger.wrong(new Set(['a']))).toEqual([]);
});

it.each([
  [['a 1', 'b 2'], ['a', 'b'], []],
  [['a 1'], ['a', 'b'], ['b']],
  [['a 1', 'a 2', 'b 3'], ['a', 'b'], ['a']],
  [['a 1', 'a 1', 'b 2'], ['a', 'b'], []],
  [['a 1', 'b 2'], ['a'], ['b']],
  [[], [], []],
])('with the effects %j of the decisions %j these are wrong: %j', async (effects, decided, wrong) => {
  for (const effect of effects) await post(effect);
  expect(ledger.wrong(new Set(decided))).toEqual(wrong);
});
