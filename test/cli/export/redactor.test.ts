import { createRedactor, keepAll } from '../../../src/cli/export/redactor';

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
