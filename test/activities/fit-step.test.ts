import { fitStep } from '../../src/activities/fit-step';
import type { PreparedCall } from '../../src/contract/call';
import { LIMITS } from '../../src/contract/limits';
import { utf8Bytes } from '../../src/contract/transcript';
import { validCall } from '../support/calls';

const calls = (count: number, size: number, preview = 0): PreparedCall[] =>
  Array.from({ length: count }, (_, index) => ({
    ...validCall({ callId: `1.${index + 1}`, args: { to: 'x'.repeat(size) } }),
    ...(preview === 0 ? {} : { preview: { text: 'p'.repeat(preview) } }),
  }));
const kinds = (fitted: PreparedCall[]): string => fitted.map((call) => call.kind[0]).join('');

it.each<[string, PreparedCall[], string]>([
  ['64 small calls', calls(64, 1), 'a'.repeat(64)],
  ['70 small calls', calls(70, 1), 'a'.repeat(64) + 'i'.repeat(6)],
  ['one over its arguments', calls(1, LIMITS.argumentsBytes), 'i'],
  ['seven of 120 KB', calls(7, 120_000), 'aaaaaai'],
  ['three previews of 200 KB', calls(3, 1, 200_000), 'aai'],
])('%s', (_, given, expected) => {
  expect(kinds(fitStep(given, 0))).toBe(expected);
});

it('says why, names each call, and keeps the whole under its limit', () => {
  const given = [...calls(6, 120_000), ...calls(2, 1, 250_000), ...calls(60, 1)];
  const fitted = fitStep(given, 512 * 1024);
  expect(utf8Bytes(JSON.stringify(fitted)) + 512 * 1024).toBeLessThan(LIMITS.thinkResultBytes + 64 * 1024);
  expect(fitted.map((call) => call.callId)).toEqual(given.map((call) => call.callId));
  for (const call of fitted) {
    if (call.kind === 'invalid') expect(call.result.error?.message).toMatch(/^Not run: /);
  }
});

it('lets a smaller call through after one that was too large', () => {
  expect(kinds(fitStep([...calls(1, LIMITS.argumentsBytes), ...calls(1, 1)], 0))).toBe('ia');
});
