import { z } from 'zod';
import { FAILURES } from '../../../src/contract/names';
import { type GateRequest, readRequest } from '../../../src/workflows/gate/request';
import { PAY_SCHEMA } from '../../support/calls';

const request = (more: Partial<GateRequest> = {}): GateRequest => ({
  tool: 'refund_order',
  arguments: { amount: 10 },
  ...more,
});

/** What a worker hears of a request, the first time or with the arguments of a person. */
const given = (more: Partial<GateRequest>, edited?: { amount: number }) =>
  readRequest(request(more)).asked.given?.(edited);

const throwing = (): string => {
  throw new Error('no printer');
};

describe('a worker hears of a request', () => {
  it('its tool and its arguments without those that are undefined', () => {
    const more: object = { amount: 10, to: undefined };
    const { asked, args } = readRequest({ tool: 'pay', arguments: more });
    expect(asked).toMatchObject({ tool: 'pay', settings: { gate: {} } });
    expect(Object.keys(args)).toEqual(['amount']);
  });

  it.each<[string, Partial<GateRequest>, object]>([
    ['nothing else', {}, {}],
    ['why a person is asked', { reason: 'over 100' }, { reason: 'over 100' }],
    ['its preview that is a text', { preview: 'pays 10' }, { preview: 'pays 10' }],
    [
      'its preview that is made of its arguments',
      { preview: (args) => `pays ${String(args['amount'])}` },
      { preview: 'pays 10' },
    ],
    ['its effect', { effect: 'pure' }, { effect: 'pure' }],
    ['that it is never decided with others', { noBatch: true }, { noBatch: true }],
    ['that it never expires', { expiresIn: 'never' }, { requestExpiresMs: null }],
    ['that it expires in words', { expiresIn: '2 hours' }, { requestExpiresMs: 7_200_000 }],
    ['that it expires in milliseconds', { expiresIn: 1500.4 }, { requestExpiresMs: 1500 }],
    ['its schema', { schema: PAY_SCHEMA }, { schema: PAY_SCHEMA }],
  ])('%s', (_case, more, expected) => {
    expect(given(more)).toEqual(expected);
  });

  it('its schema of zod as JSON Schema', () => {
    const { asked, fits } = readRequest({ ...request(), schema: z.object({ amount: z.number().max(50) }) });
    expect(asked.given?.(undefined).schema).toMatchObject({ required: ['amount'] });
    expect(fits({ amount: 51 })).toBe(false);
    expect(fits({ amount: 49 })).toBe(true);
  });
});

describe('a worker hears of the arguments of a person', () => {
  it('with the preview that is made of them', () => {
    const preview = (args: object) => JSON.stringify(args);
    expect(given({ schema: PAY_SCHEMA, preview }, { amount: 7 })).toMatchObject({ preview: '{"amount":7}' });
  });

  it('without a preview that was a text about others', () => {
    expect(given({ schema: PAY_SCHEMA, preview: 'pays 10' }, { amount: 7 })?.preview).toBeUndefined();
  });
});

describe('a request is refused, and fails its workflow for good,', () => {
  it.each<[string, Partial<GateRequest>, RegExp]>([
    ['with a name that is not in snake_case', { tool: 'Refund Order' }, /"Refund Order" is not a name/],
    ['with a name that is too long', { tool: 'x'.repeat(65) }, /is not a name of a tool/],
    ['with arguments that are not JSON', { arguments: { amount: Number.NaN } }, /not plain JSON/],
    ['with a time that is none', JSON.parse('{"expiresIn":"soon"}'), /expiresIn "soon" is not a time/],
    ['with a time of nothing', { expiresIn: 0 }, /expiresIn 0 is not a time/],
    ['with a preview that throws', { preview: throwing }, /the preview of refund_order failed: no printer/],
    [
      'with a schema without a JSON Schema form',
      { schema: z.object({ amount: z.number(), at: z.date() }) as never },
      /the arguments of refund_order/,
    ],
  ])('%s', (_case, more, message) => {
    expect(() => given(more)).toThrow(
      expect.objectContaining({
        type: FAILURES.gate,
        nonRetryable: true,
        message: expect.stringMatching(message),
      }),
    );
  });
});
