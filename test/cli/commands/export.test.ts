import { createKnownSecrets, createRedactor, keepAll, learner } from '../../../src/cli/commands/export';

const SECRET = 'sk-0123456789abcdef0123';

it.each([
  ['by its name', { arguments: { password: 'x' } }, { arguments: { password: '[redacted]' } }, 1],
  ['by its shape', { text: `use ${SECRET}` }, { text: 'use [redacted]' }, 1],
  [
    'in lists',
    { list: [SECRET, { token: 'x', n: 1 }] },
    { list: ['[redacted]', { token: '[redacted]', n: 1 }] },
    2,
  ],
  ['in plain text', SECRET, '[redacted]', 1],
])('takes a secret out %s and counts it', (_what, value, expected, taken) => {
  const redactor = createRedactor();
  expect(redactor.value(value)).toEqual(expected);
  expect(redactor.taken()).toBe(taken);
});

it('keeps what a replay reads: ids, digests, numbers of tokens, nothing', () => {
  const redactor = createRedactor();
  const value = {
    replyId: 'r',
    calls: [{ callId: '1.1', argsDigest: 'a'.repeat(64), settings: { requestExpiresMs: null } }],
    usage: { inputTokens: 5, outputTokens: 6 },
    open: { key: '0b6a' },
  };
  expect(redactor.value(value)).toEqual(value);
  expect([redactor.value(null), redactor.value(undefined), redactor.value(1)]).toEqual([null, undefined, 1]);
  expect(redactor.taken()).toBe(0);
});

it('keeps the schema of an argument that has the name of a secret, but no secret in it', () => {
  const schemas = (example: string) => ({
    schemas: { d1: { properties: { password: { type: 'string', examples: [example] } } } },
  });
  expect(createRedactor().value(schemas(SECRET))).toEqual(schemas('[redacted]'));
});

it('takes secrets out of texts that are no payloads', () => {
  const redactor = createRedactor();
  expect(redactor.text(`failed with ${SECRET}`)).toBe('failed with [redacted]');
  expect(redactor.text('failed')).toBe('failed');
  expect(redactor.taken()).toBe(1);
});

it('keeps everything where that was asked for', () => {
  expect([keepAll.value({ token: SECRET }), keepAll.text(SECRET), keepAll.taken()]).toEqual([
    { token: SECRET },
    SECRET,
    0,
  ]);
});

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

it('learns nothing that is too short to differ from words', () => {
  expect(after({ password: 'a' }, 'a banana')).toBe('a banana');
});

it('takes them out of texts outside payloads', () => {
  const known = createKnownSecrets();
  learner(known).value({ token: 'correct horse' });
  expect(createRedactor(known).text('failed for correct horse')).toBe('failed for [redacted]');
  expect(learner(known).text('correct horse')).toBe('correct horse');
});
