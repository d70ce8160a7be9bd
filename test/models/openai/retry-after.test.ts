import { retryAfter } from '../../../src/models/openai/retry-after';

const now = Date.parse('2026-01-01T00:00:00Z');

it.each<[string, Record<string, string>, number | undefined]>([
  ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
  ['a date of the old form', { 'retry-after': 'Thursday, 01-Jan-26 00:01:00 GMT' }, 60_000],
  ['a date far away', { 'retry-after': 'Fri, 01 Jan 2027 00:00:00 GMT' }, 86_400_000],
  ['a date that is none', { 'retry-after': 'Thu, 99 Foo 2026 00:00:00 GMT' }, undefined],
  ['half a millisecond', { 'retry-after-ms': '0.5' }, 1],
  ['bad milliseconds beside good seconds', { 'retry-after-ms': 'soon', 'retry-after': '2' }, 2000],
  ['a number too long to be one', { 'retry-after': '9'.repeat(1000) }, undefined],
  ['hexadecimal', { 'retry-after': '0x10' }, undefined],
  ['empty', { 'retry-after': '' }, undefined],
])('%s', (_, headers, expected) => {
  expect(retryAfter(headers, now)).toBe(expected);
});
