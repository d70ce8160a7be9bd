import { FAILURES } from '../../../src/contract/names';
import { gateFailure, toMs } from '../../../src/workflows/gate/call-to-ask';

it('a time says which option is wrong', () => {
  expect(toMs('2 minutes', 'timeout')).toBe(120_000);
  expect(() => toMs(-1, 'timeout')).toThrow("timeout -1 is not a time; write milliseconds or '2 hours'");
});

it('its failure is of our type and not retried', () => {
  expect(gateFailure('no')).toMatchObject({ type: FAILURES.gate, nonRetryable: true, message: 'no' });
});
