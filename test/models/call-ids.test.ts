import { createHash } from 'node:crypto';
import { type IdForm, idFormOf, withFittingIds } from '../../src/models/call-ids';
import type { ModelMessage } from '../../src/models/model';

const safe = idFormOf('gpt-5', 'api.openai.com');
const nine = idFormOf('mistral-large-latest', 'api.mistral.ai');
const kimi = idFormOf('kimi-k2', 'here:1');

const step = (ids: string[], results = ids): ModelMessage[] => [
  { role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, name: 'pay', arguments: '{}' })) },
  ...results.map((toolCallId) => ({ role: 'tool' as const, toolCallId, toolName: 'pay', content: '' })),
];

/** The ids of calls and of results, in their order. */
const idsOf = (messages: readonly ModelMessage[], form: IdForm): [string[], string[]] => {
  const fitted = withFittingIds(messages, form);
  return [
    fitted.flatMap((one) => (one.role === 'assistant' ? one.toolCalls.map(({ id }) => id ?? '') : [])),
    fitted.flatMap((one) => (one.role === 'tool' ? one.toolCallId : [])),
  ];
};

it.each<[string, IdForm, string[]]>([
  ['a Kimi id', safe, ['functions.send_mail:0']],
  ['a long id', safe, ['x'.repeat(100)]],
  ['long ids that begin alike', safe, [`${'x'.repeat(100)}1`, `${'x'.repeat(100)}2`]],
  ['an id of OpenAI', nine, ['call_abcdefghijklmnopqrstuvwx']],
  ['ids that differ in marks alone', nine, ['call.12345', 'call-12345', 'call_12345', 'abcdefghi']],
  ['no letters at all', safe, ['', ' ', '…', 'ä']],
])('%s fits, once, on the call and its result', (_, form, ids) => {
  const [calls, results] = idsOf(step(ids, ids.toReversed()), form);
  expect(calls.filter((id) => !form.fits.test(id))).toEqual([]);
  expect(new Set(calls).size).toBe(ids.length);
  expect(results).toEqual(calls.toReversed());
});

it('an id that two steps have is two ids', () => {
  const [calls, results] = idsOf([...step(['call_0']), ...step(['call_0'])], safe);
  expect(calls[0]).toBe('call_0');
  expect(calls[1]).not.toBe('call_0');
  expect(results).toEqual(calls);
});

it('two calls of one id have each its result', () => {
  const [calls, results] = idsOf(step(['same', 'same']), safe);
  expect(new Set(calls).size).toBe(2);
  expect(results).toEqual(calls);
});

it('a made id never meets one that is there', () => {
  const made = `call_${createHash('sha256').update('a.b 0').digest('hex').slice(0, 24)}`;
  const [calls] = idsOf(step(['a.b', made]), safe);
  expect(calls[1]).toBe(made);
  expect(calls[0]).not.toBe(made);
});

it('ids stay the same when the conversation grows', () => {
  const before = idsOf(step(['a.b']), safe)[0];
  expect(idsOf([...step(['a.b']), ...step(['c.d'])], safe)[0].slice(0, 1)).toEqual(before);
});

it('a model keeps ids that it needs in its own form', () => {
  expect(idsOf(step(['functions.pay:0']), kimi)[0]).toEqual(['functions.pay:0']);
  expect(idsOf(step(['abcDEF123']), nine)[0]).toEqual(['abcDEF123']);
});

it('a name that no tool can have is one that a provider takes', () => {
  const [message] = withFittingIds(
    [{ role: 'assistant', content: '', toolCalls: [{ name: 'functions.pay now', arguments: '' }] }],
    safe,
  );
  expect(message).toMatchObject({ toolCalls: [{ name: 'functions_pay_now' }] });
});
