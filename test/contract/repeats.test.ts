import type { InvalidCall } from '../../src/contract/call';
import { LIMITS } from '../../src/contract/limits';
import { afterStep, isLoop, isRepeated } from '../../src/contract/repeats';
import { result } from '../history/script';
import { validCall } from '../support/calls';

const NONE = { calls: '', results: '', times: 0, refused: 0 };
const calls = [{ ...validCall({ kind: 'run', effect: 'pure' }) }];
const others = [{ ...validCall({ kind: 'run', effect: 'pure' }), argsDigest: 'other' }];

/** What is known after so many steps with the same calls and the same results. */
type Repeats = Parameters<typeof isLoop>[0];

const after = (steps: number, repeats: number | undefined): Repeats => {
  let repeated = NONE;
  for (let n = 0; n < steps; n++) repeated = afterStep({ repeated, repeats }, calls, ['same']);
  return { repeated, repeats };
};

it.each<[string, Repeats, boolean]>([
  ['below the limit', after(1, 2), false],
  ['at the limit', after(2, 2), true],
  ['without a limit', after(50, undefined), false],
])('the calls of one more such step do not run: %s', (_case, repeats, isOver) => {
  expect(isRepeated(repeats, calls)).toBe(isOver);
  expect(isRepeated(repeats, others)).toBe(false);
});

it.each<[string, Repeats, boolean]>([
  ['not at the limit', after(2, 2), false],
  ['not after two refused steps', after(4, 2), false],
  ['after three refused steps', after(5, 2), true],
  ['never without a limit', after(50, undefined), false],
])('the turn ends: %s', (_case, repeats, ends) => {
  expect(isLoop(repeats)).toBe(ends);
});

it('other results, or other calls, begin anew', () => {
  const twice = after(2, 5);
  expect(afterStep(twice, calls, ['new'])).toMatchObject({ times: 1, refused: 0 });
  expect(afterStep(twice, others, ['same'])).toMatchObject({ times: 1, refused: 0 });
  const refused = after(2 + LIMITS.refusedSteps - 1, 2);
  expect(afterStep(refused, others, ['same'])).toMatchObject({ times: 1, refused: 0 });
});

it('remembers little of a call, however long the name that a model gave', () => {
  const call: InvalidCall = {
    ...{ kind: 'invalid', callId: '1.1', id: 'm', tool: 'x'.repeat(500_000) },
    ...{ proposed: { text: 'y'.repeat(500_000) }, result: result('1.1') },
  };
  const { calls: remembered } = afterStep({ repeated: NONE, repeats: 2 }, [call], ['d']);
  expect(remembered.length).toBeLessThan(500);
});

it('remembers little of a step with many calls, and still tells such steps apart', () => {
  const many = (last: string): InvalidCall[] =>
    Array.from({ length: LIMITS.callsAnswered }, (_, n) => ({
      ...{ kind: 'invalid' as const, callId: `1.${n + 1}`, id: 'm', tool: 't'.repeat(200) },
      ...{
        proposed: { text: n === LIMITS.callsAnswered - 1 ? last : 'y'.repeat(200) },
        result: result('1.1'),
      },
    }));
  const digests = many('').map((_, n) => String(n).padStart(64, '0'));
  const once = afterStep({ repeated: NONE, repeats: 2 }, many('a'), digests);
  expect(JSON.stringify(once).length).toBeLessThan(2_500);
  expect(afterStep({ repeated: once, repeats: 2 }, many('a'), digests)).toMatchObject({ times: 2 });
  expect(afterStep({ repeated: once, repeats: 2 }, many('b'), digests)).toMatchObject({ times: 1 });
  expect(afterStep({ repeated: once, repeats: 2 }, many('a'), digests.toReversed())).toMatchObject({
    times: 1,
  });
});
