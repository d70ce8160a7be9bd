import { afterStep, isRepeated } from '../../../src/contract/spending/repeats';
import { validCall } from '../../support/calls';
import type { InvalidCall } from '../../../src/contract/call';
import { result } from '../../history/script';

const FIRST = { calls: '', results: '', times: 0, refused: 0 };

it('remembers little of a call, however long the name that a model gave', () => {
  const call: InvalidCall = {
    ...{ kind: 'invalid', callId: '1.1', id: 'm', tool: 'x'.repeat(500_000) },
    ...{ proposed: { text: 'y'.repeat(500_000) }, result: result('1.1') },
  };
  const { calls } = afterStep({ repeated: FIRST, repeats: 2 }, [call], ['d']);
  expect(calls.length).toBeLessThan(500);
});

it.each([
  [1, false],
  [2, true],
])('after %i equal steps, the calls of the next one are refused: %p', (times, expected) => {
  let repeated = FIRST;
  const calls = [validCall()];
  for (let n = 0; n < times; n++) repeated = afterStep({ repeated, repeats: 2 }, calls, ['d']);
  expect(isRepeated({ repeated, repeats: 2 }, calls)).toBe(expected);
});
