import { FAILURES } from '../../../src/contract/names';
import { LIMITS, TIMES } from '../../../src/contract/limits';
import {
  fitsLike,
  gateFailure,
  type PlainRequest,
  toCall,
  toEditedCall,
  toMs,
  toPlain,
} from '../../../src/workflows/gate/request';
import type { CallState } from '../../../src/lifecycle/state';
import { z } from 'zod';
import { approvalsWith, PAY_SCHEMA } from '../../support/calls';

const request = (more: Partial<PlainRequest> = {}): PlainRequest => ({
  tool: 'refund_order',
  arguments: { amount: 10 },
  ...more,
});

describe('a request becomes a call', () => {
  it('of a dangerous, unsafe tool that waits seven days, unless it says otherwise', () => {
    expect(toCall(request(), '1.1')).toMatchObject({
      ...{ kind: 'ask', callId: '1.1', id: '1.1', tool: 'refund_order', arguments: { amount: 10 } },
      settings: { safety: 'dangerous', effect: 'unsafe', requestExpiresMs: TIMES.requestExpires },
    });
  });

  it.each<[string, Partial<PlainRequest>, object]>([
    ['with the reason why a person is asked', { reason: 'over 100' }, { policyReason: 'over 100' }],
    ['with a preview that is a text', { preview: 'pays 10' }, { preview: { text: 'pays 10' } }],
    [
      'with a preview that is made of its arguments',
      { preview: (args) => `pays ${String(args['amount'])}` },
      { preview: { text: 'pays 10' } },
    ],
    ['with another effect', { effect: 'pure' }, { settings: { effect: 'pure' } }],
    ['that is never decided with others', { noBatch: true }, { settings: { noBatch: true } }],
    ['that never expires', { expiresIn: 'never' }, { settings: { requestExpiresMs: null } }],
    ['that expires in words', { expiresIn: '2 hours' }, { settings: { requestExpiresMs: 7_200_000 } }],
    ['that expires in milliseconds', { expiresIn: 1500.4 }, { settings: { requestExpiresMs: 1500 } }],
  ])('%s', (_case, more, expected) => {
    expect(toCall(request(more), '1.1')).toMatchObject(expected);
  });

  it('keeps its arguments without those that are undefined', () => {
    const given: object = { amount: 10, to: undefined };
    expect(Object.keys(toCall({ tool: 'pay', arguments: given }, '1.1').arguments)).toEqual(['amount']);
  });

  it('has another digest where its schema is another one', () => {
    const plain = toCall(request(), '1.1').toolDigest;
    expect(toCall(request({ schema: PAY_SCHEMA }), '1.1').toolDigest).not.toBe(plain);
    expect(toCall(request({ arguments: { amount: 11 } }), '1.1').toolDigest).toBe(plain);
  });
});

describe('a request is refused, and fails its workflow for good,', () => {
  it.each<[string, Partial<PlainRequest>, string, RegExp]>([
    [
      'with a name that is not in snake_case',
      { tool: 'Refund Order' },
      '1.1',
      /"Refund Order" is not a name/,
    ],
    ['with a name that is too long', { tool: 'x'.repeat(65) }, '1.1', /is not a name of a tool/],
    ['with a call id with a blank', {}, 'a b', /"a b" cannot be a call id/],
    ['with an empty call id', {}, '', /cannot be a call id/],
    ['with arguments that are not JSON', { arguments: { amount: Number.NaN } }, '1.1', /not plain JSON/],
    [
      'with arguments that do not fit its schema',
      { schema: PAY_SCHEMA, arguments: { amount: 5000 } },
      '1.1',
      /do not fit its schema: .*amount/,
    ],
    [
      'with a preview that throws',
      {
        preview: () => {
          throw new Error('no printer');
        },
      },
      '1.1',
      /the preview of refund_order failed: no printer/,
    ],
    ['with a time that is none', JSON.parse('{"expiresIn":"soon"}'), '1.1', /expiresIn "soon" is not a time/],
    ['with a time of nothing', { expiresIn: 0 }, '1.1', /expiresIn 0 is not a time/],
    [
      'that is too large to review',
      { preview: 'x'.repeat(LIMITS.gateRequestBytes) },
      '1.1',
      /too large to review/,
    ],
  ])('%s', (_case, more, callId, message) => {
    expect(() => toCall(request(more), callId)).toThrow(
      expect.objectContaining({
        type: FAILURES.gate,
        nonRetryable: true,
        message: expect.stringMatching(message),
      }),
    );
  });
});

describe('a schema', () => {
  it('of zod becomes JSON Schema', () => {
    const { schema } = toPlain({ ...request(), schema: z.object({ amount: z.number().max(50) }) });
    expect(schema).toMatchObject({ required: ['amount'], additionalProperties: false });
    expect(fitsLike({ ...request(), ...(schema && { schema }) }, { amount: 51 })).toBe(false);
  });

  it('of JSON Schema stays as it is, and so does none', () => {
    expect(toPlain(request({ schema: PAY_SCHEMA })).schema).toBe(PAY_SCHEMA);
    expect(toPlain(request())).toEqual(request());
  });

  it('without a JSON Schema form fails the workflow', () => {
    const schema = z.object({ amount: z.number(), at: z.date().optional() });
    const at = { ...request(), arguments: { amount: 1 }, schema };
    expect(() => toPlain(at)).toThrow(expect.objectContaining({ type: FAILURES.gate }));
  });
});

it('a time says which option is wrong', () => {
  expect(toMs('2 minutes', 'timeout')).toBe(120_000);
  expect(() => toMs(-1, 'timeout')).toThrow("timeout -1 is not a time; write milliseconds or '2 hours'");
});

it('its failure is of our type and not retried', () => {
  expect(gateFailure('no')).toMatchObject({ type: FAILURES.gate, nonRetryable: true, message: 'no' });
});

it.each<[string, Partial<PlainRequest>, object, boolean]>([
  ['that fit the schema', { schema: PAY_SCHEMA }, { amount: 7 }, true],
  ['that do not', { schema: PAY_SCHEMA }, { amount: 'x' }, false],
  ['where there is no schema', {}, { amount: 7 }, false],
])('other arguments %s', (_case, more, args, fits) => {
  expect(fitsLike(request(more), JSON.parse(JSON.stringify(args)))).toBe(fits);
});

describe('a request with the arguments of a person', () => {
  const edited = (amount: number | string): CallState => {
    return { ...approvalsWith({}).call(), effective: { amount } };
  };

  it('shows the preview that is made of them', () => {
    const own = request({ schema: PAY_SCHEMA, preview: (args) => `pays ${String(args['amount'])}` });
    expect(toEditedCall(own, edited(7))).toMatchObject({
      ...{ kind: 'ask', callId: '1.1', arguments: { amount: 7 }, preview: { text: 'pays 7' } },
    });
  });

  it('shows no preview where that was a text about others', () => {
    const call = toEditedCall(request({ schema: PAY_SCHEMA, preview: 'pays 10' }), edited(7));
    expect(call).toMatchObject({ kind: 'ask', arguments: { amount: 7 } });
    expect(call).not.toHaveProperty('preview');
  });

  it.each<[string, Partial<PlainRequest>, number | string, RegExp]>([
    ['they do not fit', { schema: PAY_SCHEMA }, 'x', /do not fit the schema/],
    ['there is no schema', {}, 7, /do not fit the schema/],
    [
      'their preview throws',
      {
        schema: PAY_SCHEMA,
        preview: () => {
          throw new Error('no printer');
        },
      },
      7,
      /no printer/,
    ],
  ])('is an error result where %s', (_case, more, amount, message) => {
    expect(toEditedCall(request(more), edited(amount))).toMatchObject({
      kind: 'invalid',
      result: { success: false, error: { code: 'validation', message: expect.stringMatching(message) } },
    });
  });
});

it('a request for which the memo has no room is refused, and so is an edit that makes it so large', () => {
  expect(() => toCall(request(), '1.1', undefined, 100)).toThrow('memo leaves room for 100:');
  const state = approvalsWith({ args: { amount: 7 } }).call();
  expect(toEditedCall(request({ schema: PAY_SCHEMA }), state, -5)).toMatchObject({
    kind: 'invalid',
    result: { error: { code: 'validation', message: expect.stringContaining('leaves room for 0:') } },
  });
});
