import {
  activityIds,
  callIdIn,
  callKey,
  gateMemoKey,
  idempotencyKey,
  parseActivityId,
  PATCHES,
  stepOfCall,
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

test.each<[string, object | undefined]>([
  [activityIds.think(3), { what: 'think', of: '3', number: 0 }],
  [activityIds.burst(3, 2), { what: 'burst', of: '3', number: 0 }],
  [activityIds.prepare('1.2', 3), { what: 'prepare', of: '1.2', number: 0 }],
  [activityIds.call('pay-1-again', 3), { what: 'call', of: 'pay-1-again', number: 3 }],
  [activityIds.recall('turn-7-x', 2), { what: 'recall', of: 'turn-7-x', number: 0 }],
  [activityIds.compact(4), { what: 'compact', of: '4', number: 0 }],
  [activityIds.held('1.2', 11), { what: 'held', of: '1.2', number: 11 }],
  [activityIds.call('1.2', 1), { what: 'call', of: '1.2', number: 1 }],
  [activityIds.call('7-refund-again-1', 0), { what: 'call', of: '7-refund-again-1', number: 0 }],
  [activityIds.child('1.2', 2), { what: 'child', of: '1.2', number: 0 }],
  [activityIds.verify('1.2', 0, 3), { what: 'verify', of: '1.2', number: 0 }],
  ['think-', undefined],
  ['call-1.2', undefined],
  ['7', undefined],
])('the parts of the activity id %s', (id, parts) => expect(parseActivityId(id)).toEqual(parts));

test.each<[string, number]>([
  [callIdIn(3, 0), 3],
  [`${callIdIn(12, 3)}.0.1`, 12],
  ['4.budget', 4],
  ['4', 4],
  ['7-refund', 0],
  ['refund-7.1', 0],
  ['', 0],
])('the step of the call %s is %p', (callId, step) => expect(stepOfCall(callId)).toBe(step));

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
