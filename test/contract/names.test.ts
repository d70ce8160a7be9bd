import {
  activityIds,
  callKey,
  gateMemoKey,
  idempotencyKey,
  PATCHES,
  TOOL_NAME,
} from '../../src/contract/names';

test('the key of a call is the id of its reply and its own', () => {
  expect(callKey('r-7', '1.2')).toBe('r-7:1.2');
  expect(callKey('r-7', '1.2')).not.toBe(callKey('r-8', '1.2'));
});

test('a retry has the same idempotency key, run-again another one', () => {
  const call = { callKey: callKey('r-7', '1.2'), generation: 0 };
  expect(idempotencyKey(call)).toBe('r-7:1.2:0');
  expect(idempotencyKey({ ...call, generation: 1 })).toBe('r-7:1.2:1');
});

test.each<[string, string]>([
  [activityIds.think(3), 'think-3'],
  [activityIds.think(3, 2), 'think-3-again-1'],
  [activityIds.prepare('1.2'), 'prepare-1.2'],
  [activityIds.call('1.2', 1), 'call-1.2-1'],
  [activityIds.verify('1.2', 0, 3), 'verify-1.2-0-again-2'],
  [gateMemoKey('refund'), 'gated.refund'],
])('the id %s', (id, expected) => expect(id).toBe(expected));

test.each<[string, boolean]>([
  ['write_file', true],
  ['a', true],
  ['a'.repeat(64), true],
  ['a'.repeat(65), false],
  ['Write', false],
  ['1st', false],
  ['server__tool', true],
  ['', false],
])('tool name %j: %s', (name, fits) => expect(TOOL_NAME.test(name)).toBe(fits));

test('no released turn has a patch yet', () => expect(PATCHES).toEqual([]));
