import { argumentsOf, isAskable, timeToDecide } from '../../src/contract/call';
import { ask, authority } from '../history/script';

const UNSAFE = ask('1.1');
const ASKABLE = ask('1.1', {}, { effect: 'idempotent' });
const head = { callId: '1.1', id: 'c', tool: 'far' };

it.each([
  ['that could run', ask('1.1'), { n: 1 }],
  ['that nobody has parsed yet', { ...head, kind: 'remote', taskQueue: 'far', raw: '{"n":1}' } as const, {}],
])('argumentsOf reads the arguments of a call %s', (_case, call, expected) => {
  expect(argumentsOf(call)).toEqual(expected);
});

it.each([
  ['the time of the tool', 5, undefined, 5],
  ['the time of the rule, if the tool names none', null, 7, 7],
  ['the shorter time of both: the tool', 5, 7, 5],
  ['the shorter time of both: the rule', 9, 7, 7],
  ['no limit, if neither names a time', null, undefined, null],
])('people have %s to decide a request', (_case, requestExpiresMs, expiresMs, time) => {
  const rule = authority(1, expiresMs === undefined ? {} : { expiresMs });
  expect(timeToDecide(ask('1.1', { authority: rule }, { requestExpiresMs }))).toBe(time);
});

it.each<[string, Parameters<typeof isAskable>, boolean]>([
  ['of a request that may run again', [{ ...ASKABLE, kind: 'ask' }, undefined, {}], true],
  ['of a call that no rule asked about', [{ ...ASKABLE, kind: 'run' }, undefined, {}], false],
  ['of an unsafe request, with its secret', [UNSAFE, 's', { secret: 's' }], true],
  ['of an unsafe request, with another secret', [UNSAFE, 's', { secret: 't' }], false],
  ['of an unsafe request without a secret', [UNSAFE, undefined, {}], false],
])('whether a worker may void the decision %s', (_, of, expected) => {
  expect(isAskable(...of)).toBe(expected);
});
