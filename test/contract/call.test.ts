import { argumentsOf, isAskable } from '../../src/contract/call';
import { ask } from '../history/script';

const UNSAFE = ask('1.1');
const ASKABLE = ask('1.1', {}, { effect: 'idempotent' });
const head = { callId: '1.1', id: 'c', tool: 'far' };

it.each([
  ['that could run', ask('1.1'), { n: 1 }],
  ['that nobody has parsed yet', { ...head, kind: 'remote', taskQueue: 'far', raw: '{"n":1}' } as const, {}],
])('argumentsOf reads the arguments of a call %s', (_case, call, expected) => {
  expect(argumentsOf(call)).toEqual(expected);
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
