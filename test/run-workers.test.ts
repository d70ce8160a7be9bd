import { CountersignError } from '../src/contract/errors';
import { explainFrozen } from '../src/run-workers';

it('says of a worker that was frozen inside workflow code that it was frozen', () => {
  const frozen = explainFrozen(new Error('Script execution timed out after 5000ms'));
  expect(frozen).toBeInstanceOf(CountersignError);
  expect(frozen).toMatchObject({
    code: 'worker_failed',
    message: expect.stringContaining('frozen for over 5 s'),
    hint: expect.stringContaining('Start it again'),
  });
  const other = new Error('out of memory');
  expect(explainFrozen(other)).toBe(other);
});
