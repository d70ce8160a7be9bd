import { changedLeaves, leavesOf } from '../../../src/contract/text/json-diff';

it('lists every leaf by the path that --set takes', () => {
  expect(leavesOf({ a: { b: [1, { c: null }] }, 'x.y': true, none: [], empty: {}, '': 'e' })).toEqual([
    { path: 'a.b.0', value: 1 },
    { path: 'a.b.1.c', value: null },
    { path: 'x\\.y', value: true },
    { path: 'none', value: [] },
    { path: 'empty', value: {} },
    { path: '', value: 'e' },
  ]);
});

it.each([
  ['nothing', { a: { b: 1 } }, { a: { b: 1 } }, []],
  ['another value', { a: { b: 1 } }, { a: { b: '1' } }, [{ path: 'a.b', old: 1, now: '1' }]],
  ['a new leaf', {}, { a: null }, [{ path: 'a', old: undefined, now: null }]],
  [
    'a leaf that is gone',
    { a: [1] },
    { a: [] },
    [
      { path: 'a.0', old: 1, now: undefined },
      { path: 'a', old: undefined, now: [] },
    ],
  ],
])('tells %s', (_, before, after, changed) => {
  expect(changedLeaves(before, after)).toEqual(changed);
});
