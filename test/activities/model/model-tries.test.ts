import { modelFailure } from '../../../src/activities/model/model-tries';
import { ModelError } from '../../../src/models/model';

it.each<[string, unknown, object]>([
  [
    'a model that is busy',
    new ModelError('rate_limit', 'm: busy', { retryable: true }),
    { type: 'ModelError.rate_limit', message: 'm: busy', nonRetryable: false },
  ],
  [
    'a model that refuses the key',
    new ModelError('auth', 'm: no key', { retryable: false }),
    { nonRetryable: true },
  ],
  ['any other error', new Error('bug'), { message: 'bug', nonRetryable: false }],
  ['what is not an error', 'bug', { message: 'bug', nonRetryable: false }],
])('%s as a failure', (_, error, failure) => {
  const made = modelFailure(error);
  expect(made.nonRetryable).toBe(Reflect.get(failure, 'nonRetryable'));
  expect(made.message).toContain(Reflect.get(failure, 'message') ?? '');
});

it('says when the next attempt comes, or why there is none', () => {
  expect(modelFailure(new Error('busy'), { waitMs: 500 })).toMatchObject({
    nextRetryDelay: 500,
    nonRetryable: false,
  });
  expect(modelFailure(new Error('busy'), { last: 'asked twice' })).toMatchObject({
    message: 'busy (asked twice)',
    nonRetryable: true,
  });
});

it('has no stack of its own in the log, but that of a mistake in the model', () => {
  expect(modelFailure(new ModelError('auth', 'no key', { retryable: false })).stack).toBe('');
  const bug = new Error('bug');
  expect(modelFailure(bug).stack).toBe(bug.stack);
});

it('keeps the cause', () => {
  const cause = new Error('socket hang up');
  expect(modelFailure(new Error('busy', { cause })).cause).toBe(cause);
});
