import { createKnownSecrets } from '../../../src/cli/export/known-secrets';
import { createRedactor, learner } from '../../../src/cli/export/redactor';

/** What is left of a value where another one had a secret by its name. */
const after = (learnt: unknown, value: unknown): unknown => {
  const known = createKnownSecrets();
  learner(known).value(learnt);
  return createRedactor(known).value(value);
};

it.each([
  ['a text', 'logged in with correct horse.', 'logged in with [redacted].'],
  ['a result', { content: 'correct horse', success: true }, { content: '[redacted]', success: true }],
  ['arguments of another name', { arguments: { id: 'correct horse' } }, { arguments: { id: '[redacted]' } }],
  ['a list', ['correct horse', 1], ['[redacted]', 1]],
])('takes a secret that was found by its name out of %s too', (_what, value, expected) => {
  expect(after({ arguments: { password: 'correct horse' } }, value)).toEqual(expected);
});

it('learns from what is taken out as a whole', () => {
  expect(after({ credentials: { user: 'ann', list: ['correct horse'] } }, 'correct horse')).toBe(
    '[redacted]',
  );
});

it.each([
  [{ decision: 'approved', callId: '1.1' }],
  [{ kind: 'approved', settings: { effect: 'approved' } }],
])('keeps the words that a replay reads: %j', (value) => {
  expect(after({ password: 'approved' }, value)).toEqual(value);
});

it('learns nothing that is too short to be told from words', () => {
  expect(after({ password: 'a' }, 'a banana')).toBe('a banana');
});

it('takes them out of texts outside payloads', () => {
  const known = createKnownSecrets();
  learner(known).value({ token: 'correct horse' });
  expect(createRedactor(known).text('failed for correct horse')).toBe('failed for [redacted]');
  expect(learner(known).text('correct horse')).toBe('correct horse');
});
