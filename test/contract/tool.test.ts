import { isSessionState, stateKeyOf, type StateScope } from '../../src/contract/tool';
import { isTurnIn, turnIdIn } from '../../src/contract/session';

const keyOf = (scope: Exclude<StateScope, 'call'>, group = 'g', taskQueue?: string) =>
  stateKeyOf({ state: { scope, group }, ...(taskQueue === undefined ? {} : { taskQueue }) });

it('names state by scope, group and queue; a call without state has no name', () => {
  expect(stateKeyOf({ taskQueue: 'q' })).toBeUndefined();
  const keys = [
    keyOf('turn'),
    keyOf('session'),
    keyOf('worker'),
    keyOf('turn', 'h'),
    keyOf('turn', 'g', 'q'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

it.each([
  ['session', true],
  ['turn', false],
  ['worker', false],
] as const)('of a %s: turns of a session share it: %s', (scope, isShared) => {
  expect(isSessionState(keyOf(scope) ?? '')).toBe(isShared);
});

it.each([
  ['s', turnIdIn('s', 12), true],
  ['s.t1', turnIdIn('s.t1', 2), true],
  ['s', 's.t1.t2', false],
  ['s', 's.t', false],
  ['s', 's.t01', false],
  ['s', 's.t-1e0', false],
  ['s', 'st1', false],
  ['', 't', false],
])('session %j gives ids such as %j to its turns: %s', (session, turn, isIts) => {
  expect(isTurnIn(session, turn)).toBe(isIts);
});
