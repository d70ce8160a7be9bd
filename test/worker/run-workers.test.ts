import { CountersignError } from '../../src/contract/errors';
import { explainFrozen, stillness } from '../../src/worker/run-workers';

it('says of a worker that was frozen inside workflow code that it was frozen', () => {
  const frozen = explainFrozen(new Error('Script execution timed out after 5000ms'));
  expect(frozen).toBeInstanceOf(CountersignError);
  expect(frozen).toMatchObject({
    code: 'failed',
    message: expect.stringContaining('frozen for over 5 s'),
    hint: expect.stringContaining('Start it again'),
  });
  const other = new Error('out of memory');
  expect(explainFrozen(other)).toBe(other);
});

it('says once that a worker stood still, and for how long', () => {
  let now = 0;
  const still = stillness(() => now);
  const after = (ms: number): string | undefined => {
    now += ms;
    return still();
  };
  expect(after(250)).toBeUndefined();
  expect(after(4_999)).toBeUndefined();
  expect(after(30_400)).toMatch(/^this worker stood still for 30 s: it was frozen, /);
  expect(after(250)).toBeUndefined();
});
