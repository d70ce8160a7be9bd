import { PLAIN_FORM } from '../../src/contract/schema/question-form';
import type { JsonObject } from '../../src/contract/json';
import { completeAnswer, fieldsOf } from '../../src/contract/question';

it('puts an answer in the order of its form, with defaults; what the form has not comes last', () => {
  const form: JsonObject = {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'integer', default: 1 }, c: { type: 'boolean' } },
  };
  const whole = completeAnswer({ form }, { z: 0, c: true, a: 'x' });
  expect(JSON.stringify(whole)).toBe('{"a":"x","b":1,"c":true,"z":0}');
});

it('lists the fields as screens show them', () => {
  expect(fieldsOf({ text: '?', form: PLAIN_FORM })).toEqual([
    { name: 'answer', label: 'Answer', kind: 'text', required: true },
  ]);
  const odd: JsonObject = { type: 'object', properties: { a: 7, b: { type: 'boolean' } } };
  expect(fieldsOf({ text: '?', form: odd })).toEqual([
    { name: 'b', label: 'b', kind: 'boolean', required: false },
  ]);
  expect(fieldsOf({ text: '?', form: {} })).toEqual([]);
});
