import { isKeyRefused, refusedAt, SERVER_HINTS, STATUS } from '../../../src/contract/text/server-hints';

it('says who refused, and in which words', () => {
  expect(refusedAt('temporal.example:7233', 'Request unauthorized.')).toBe(
    'the Temporal server at temporal.example:7233 lets nobody in with this key: Request unauthorized.',
  );
});

it.each(Object.entries(SERVER_HINTS))(
  '%s: says what to do in one line without a full stop',
  (_case, hint) => {
    expect(hint).toMatch(/^[^\n]+[^.\n]$/);
  },
);

it('says something else about everything that may stand in the way', () => {
  const hints = Object.values(SERVER_HINTS);
  expect(new Set(hints).size).toBe(hints.length);
});

it.each([
  ['permissionDenied', STATUS.permissionDenied, true],
  ['unauthenticated', STATUS.unauthenticated, true],
  ['notFound', STATUS.notFound, false],
  ['no status', undefined, false],
])('%s refuses the key: %s is %s', (_case, status, expected) => {
  expect(isKeyRefused(status)).toBe(expected);
});
