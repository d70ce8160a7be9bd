import fc from 'fast-check';
import {
  addSpent,
  addTime,
  amountText,
  type Budget,
  BUDGET_KINDS,
  budgetIssues,
  countedInReply,
  crossingOf,
  emptyKind,
  noSpending,
  raised,
  raiseSchema,
  raisedText,
  restOf,
  shareOf,
  smallerOf,
  type Spent,
  spentText,
} from '../../../src/contract/spending/budget';
import { SPENDING } from '../../../src/contract/spending/carried';
import { schemaCheck } from '../../../src/contract/schema/schema';
import '../../support/properties';

const spent = (more: Partial<Spent>): Spent => ({ ...noSpending(), ...more });

it.each<[Budget, Partial<Spent>, string | undefined]>([
  [{}, { tokens: 1e9 }, undefined],
  [{ tokens: 10 }, { tokens: 9 }, undefined],
  [{ tokens: 10 }, { tokens: 10 }, 'tokens'],
  [{ tokens: 10, steps: 1 }, { tokens: 9, steps: 1 }, 'steps'],
  [{ money: 1, currency: 'EUR' }, { money: { USD: 5 } }, undefined],
  [{ money: 1, currency: 'EUR' }, { money: { EUR: 1 } }, 'money'],
  [{ time: 1000 }, { time: 1000 }, 'time'],
  [{ tokens: 0 }, {}, 'tokens'],
])('of %j with %j spent, %p is used up', (budget, used, kind) => {
  expect(crossingOf(budget, spent(used))?.kind).toBe(kind);
});

it.each([
  ['counted', { usage: { totalTokens: 7 } }, 20, { tokens: 7, steps: 1, time: 20 }],
  ['estimated', {}, 20, { tokens: 500, estimated: 500, steps: 1, time: 20 }],
  ['with a clock that was put back', {}, -3_600_000, { tokens: 500, estimated: 500, steps: 1, time: 0 }],
])('a reply, %s', (_case, reply, time, expected) => {
  expect(countedInReply(reply, { estimate: 500, time })).toEqual(expected);
});

it('a currency named like a property of objects is a currency', () => {
  const budget = { money: 1, currency: 'constructor' };
  expect(restOf(budget, spent({ money: {} })).money).toBe(1);
  expect(addSpent(spent({}), spent({ money: { constructor: 2 } })).money?.['constructor']).toBe(2);
});

it('writes amounts as people say them', () => {
  expect(amountText('tokens', 100_000)).toBe('100,000 tokens');
  expect(amountText('money', 1.25, 'EUR')).toBe('1.25 EUR');
  expect(amountText('time', 120_000)).toBe('2 min of work');
  const all = spent({ tokens: 12_000, estimated: 3000, steps: 1, time: 2000, money: { EUR: 0.4 } });
  expect(spentText(all)).toBe('12,000 tokens (3,000 estimated), 1 step, 2.0 s of work, 0.4 EUR');
});

it.each(BUDGET_KINDS)('%s: what fits the schema raises it, nothing else does', (kind) => {
  const issues = schemaCheck(raiseSchema(kind));
  for (const good of [1, 5, 1e12]) {
    expect(issues({ [kind]: good })).toEqual([]);
    expect(raised({}, { [kind]: good })).toEqual({ [kind]: good });
  }
  for (const bad of [0, -1, '5', null, 1e13]) {
    expect(issues({ [kind]: bad })).not.toEqual([]);
    expect(raised({}, { [kind]: bad })).toEqual({});
  }
  expect(issues({})).not.toEqual([]);
  expect(issues({ [kind]: 1, other: 1 })).not.toEqual([]);
});

it('says by how much it was raised', () => {
  expect(raisedText({ tokens: 250 })).toBe('250 tokens more');
  expect(raisedText({})).toBe('nothing was added');
});

const amount = fc.integer({ min: 0, max: 1_000_000 });
const amounts = fc.record(
  { tokens: amount, money: amount, steps: amount, time: amount },
  { requiredKeys: [] },
);
const budgets: fc.Arbitrary<Budget> = amounts.map((one) => ({ ...one, currency: 'EUR' }));
const spents: fc.Arbitrary<Spent> = fc
  .record({ tokens: amount, steps: amount, time: amount, euros: amount })
  .map(({ euros, ...rest }) => ({ ...rest, money: { EUR: euros } }));

it('what child turns are given one after another is never more than what is left', () => {
  fc.assert(
    fc.property(budgets, spents, fc.integer({ min: 1, max: 16 }), (budget, used, count) => {
      const given: Budget[] = [];
      for (let n = 0; n < count; n++)
        given.push(shareOf(budget, { spent: used, given, among: count - n }) ?? {});
      for (const kind of BUDGET_KINDS) {
        const limit = budget[kind];
        const sum = given.reduce((total, one) => total + (one[kind] ?? 0), 0);
        if (limit === undefined) expect(given.every((one) => one[kind] === undefined)).toBe(true);
        else
          expect(sum).toBeLessThanOrEqual(
            Math.max(0, limit - (kind === 'money' ? (used.money?.['EUR'] ?? 0) : used[kind])) + 1e-6,
          );
      }
    }),
  );
});

it('a child turn is refused exactly where its budget is used up from the start', () => {
  fc.assert(
    fc.property(budgets, spents, (budget, used) => {
      const left = shareOf(budget, { spent: used, given: [], among: 1 });
      const isCrossed = crossingOf(budget, used) !== undefined;
      expect(emptyKind(left) !== undefined).toBe(isCrossed);
    }),
  );
});

it('the smaller of two budgets is crossed where either is', () => {
  fc.assert(
    fc.property(budgets, budgets, spents, (one, other, used) => {
      const either = crossingOf(one, used) ?? crossingOf(other, used);
      expect(crossingOf(smallerOf(one, other), used) === undefined).toBe(either === undefined);
    }),
  );
});

it('the order in which spending is added makes no difference', () => {
  fc.assert(
    fc.property(fc.array(spents, { maxLength: 8 }), (list) => {
      const sum = (all: readonly Spent[]): Spent => all.reduce(addSpent, noSpending());
      expect(sum([...list].reverse())).toEqual(sum(list));
    }),
  );
});

describe('however large amounts are, the next run can read them:', () => {
  it.each(BUDGET_KINDS)('%s that a person raises by the most', (kind) => {
    const budget = raised(raised({ [kind]: 100_000 }, { [kind]: 1e12 }), { [kind]: 1e12 });
    expect(budget).toEqual({ [kind]: 1e12 });
    expect(budgetIssues(budget)).toEqual([]);
  });

  it('what was spent', () => {
    const much = { tokens: 1e300, estimated: 1e300, steps: 9e11, time: 9e11, money: { EUR: 1e300 } };
    const all = addSpent(much, much);
    expect(schemaCheck(SPENDING)({ budget: {}, isSet: true, spent: all })).toEqual([]);
    expect(crossingOf({ tokens: 1e12 }, all)?.kind).toBe('tokens');
    expect(addTime({ ...much, time: 1e12 }, 5).time).toBe(1e12);
  });
});
