import { changedLeaves, leavesOf } from '../../../src/contract/text/json-diff';

it('lists every leaf by the path that --set takes', () => {
  expect(leavesOf({ a: { b: [1, { c: null }] }, 'x.y': true, none: [], empty: {}, '': 'e' })).toEqual([
    { path: 'a.b.0', name: 'a.b.#1', value: 1 },
    { path: 'a.b.1.c', name: 'a.b.#2.c', value: null },
    { path: 'x\\.y', name: 'x\\.y', value: true },
    { path: 'none', name: 'none', value: [] },
    { path: 'empty', name: 'empty', value: {} },
    { path: '', name: '', value: 'e' },
  ]);
});

it.each([
  ['nothing', { a: { b: 1 } }, { a: { b: 1 } }, []],
  ['another value', { a: { b: 1 } }, { a: { b: '1' } }, [{ path: 'a.b', name: 'a.b', old: 1, now: '1' }]],
  ['a new leaf', {}, { a: null }, [{ path: 'a', name: 'a', old: undefined, now: null }]],
  [
    'a leaf that is gone',
    { a: [1] },
    { a: [] },
    [
      { path: 'a.0', name: 'a.#1', old: 1, now: undefined },
      { path: 'a', name: 'a', old: undefined, now: [] },
    ],
  ],
])('tells %s', (_, before, after, changed) => {
  expect(changedLeaves(before, after)).toEqual(changed);
});
