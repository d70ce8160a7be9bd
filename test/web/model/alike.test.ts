import type { RequestOpened } from '../../../src/history/events';
import type { InboxItem } from '../../../src/server/api';
import {
  compareRequests,
  isSelected,
  mayJoin,
  sumsOfCalls,
  toggled,
  withAllAlike,
} from '../../../src/web/model/alike';
import { inboxItem, proposal, request } from '../../cli/support';

const item = (turn: string, extra: Partial<InboxItem> = {}): InboxItem => inboxItem({ turn, ...extra });
const first = item('t-1');

describe('what may be selected together', () => {
  it.each<[string, InboxItem[], InboxItem, boolean]>([
    ['the first request', [], first, true],
    ['one of the same tool and agent', [first], item('t-2'), true],
    ['one of another tool', [first], item('t-2', { tool: 'wipe' }), false],
    ['one of another agent', [first], item('t-2', { agent: 'other' }), false],
    ['a call in doubt', [], item('t-2', { kind: 'in_doubt' }), false],
  ])('%s', (_case, items, one, expected) => {
    expect(mayJoin(items, one)).toBe(expected);
    expect(isSelected(toggled(items, one), one)).toBe(expected);
  });

  it('is selected no longer the second time', () => {
    expect(toggled(toggled([first], item('t-2')), first)).toEqual([item('t-2')]);
  });

  it('is all of the rows that are alike, and 200 at most', () => {
    const rows = [first, item('t-2', { tool: 'wipe' }), item('t-3'), item('t-4', { kind: 'in_doubt' })];
    expect(withAllAlike([first], rows)).toEqual([first, item('t-3')]);
    const many = Array.from({ length: 300 }, (_, n) => item(`t-${n}`));
    const all = withAllAlike([first], many);
    expect(all).toHaveLength(200);
    expect(toggled(all, item('t-250'))).toBe(all);
  });
});

describe('what differs', () => {
  const of = (...requests: RequestOpened[]) => {
    const { same, differing } = compareRequests(requests);
    const named = (fields: typeof same) =>
      Object.fromEntries(fields.map(({ name, values }) => [name, values]));
    return { same: named(same), differing: named(differing) };
  };
  const pay = (args: RequestOpened['arguments'], extra: Partial<RequestOpened> = {}): RequestOpened =>
    request({ arguments: args, ...extra });

  it('is each leaf that is not the same in all; the rest is the same', () => {
    const { same, differing } = of(
      pay({ to: { name: 'ann', bank: 'x' }, cents: 1 }),
      pay({ to: { name: 'bob', bank: 'x' }, cents: 2 }),
    );
    expect(differing).toEqual({ 'to.name': ['ann', 'bob'], cents: [1, 2] });
    expect(same).toMatchObject({ 'to.bank': ['x', 'x'] });
  });

  it('has a sum where each has a number that counts something', () => {
    const all = [
      pay({ cents: 10.1, order: { id: 7 }, zip_code: 1, part: 1, note: 'a' }),
      pay({ cents: 0.2, order: { id: 8 }, zip_code: 2, note: 'b' }),
    ];
    const { same, differing } = compareRequests(all);
    expect(sumsOfCalls([...same, ...differing])).toEqual([{ name: 'cents', sum: 10.3 }]);
    expect(sumsOfCalls([...compareRequests([pay({ cents: 5 }), pay({ cents: 5 })]).same])).toEqual([
      { name: 'cents', sum: 10 },
    ]);
    expect(sumsOfCalls(compareRequests([pay({ cents: 5 })]).same)).toEqual([]);
  });

  it('is what some do not have', () => {
    expect(of(pay({ a: 1 }), pay({ a: 1, b: null })).differing).toEqual({ b: [undefined, null] });
    expect(of(pay({ a: '' }), pay({})).differing).toEqual({ a: ['', undefined] });
  });

  it('is a number beside a text that looks like it', () => {
    expect(of(pay({ a: 1 }), pay({ a: '1' })).differing).toEqual({ a: [1, '1'] });
  });

  it('is what stands beside the arguments too: the preview, a note, a policy, who changed it', () => {
    const { differing } = of(
      pay({}, { preview: { text: 'pays 1' }, note: 'asked again' }),
      pay({}, { preview: { text: 'pays 2' }, policyReason: 'large', edit: { approver: 'ann' } }),
    );
    expect(differing).toEqual({
      'What it does': ['pays 1', 'pays 2'],
      'Asked again': ['asked again', undefined],
      Policy: [undefined, 'large'],
      'Changed by': [undefined, 'ann'],
    });
  });

  it('is the change of a file as its hunks', () => {
    const { same } = of(proposal());
    expect(same['What it does']?.[0]).toMatch(/^a\.txt\n/);
  });

  it('keeps an argument apart from what stands beside, whatever its name', () => {
    const { same, differing } = compareRequests([
      pay({ Effect: 'a' }, { effect: 'pure' }),
      pay({ Effect: 'b' }, { effect: 'pure' }),
    ]);
    expect(differing).toEqual([{ name: 'Effect', isArgument: true, values: ['a', 'b'] }]);
    expect(same).toEqual([{ name: 'Effect', isArgument: false, values: ['pure', 'pure'] }]);
  });

  it('is nothing in one alone', () => {
    expect(compareRequests([pay({ a: 1 })]).differing).toEqual([]);
  });
});
