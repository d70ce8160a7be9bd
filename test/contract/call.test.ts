import { argumentsOf } from '../../src/contract/call';
import { ask } from '../history/script';

const head = { callId: '1.1', id: 'c', tool: 'far' };

it.each([
  ['that could run', ask('1.1'), { n: 1 }],
  ['that nobody has parsed yet', { ...head, kind: 'remote', taskQueue: 'far', raw: '{"n":1}' } as const, {}],
])('argumentsOf reads the arguments of a call %s', (_case, call, expected) => {
  expect(argumentsOf(call)).toEqual(expected);
});
