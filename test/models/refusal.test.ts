import { refusalOf } from '../../src/models/refusal';

const content = [
  { type: 'output_text', text: 'x' },
  { type: 'refusal', refusal: 'No.' },
];

it.each<[string, unknown, string]>([
  ['a chat completion', { choices: [{ message: { refusal: 'No.' } }] }, 'No.'],
  ['a piece of one', { choices: [{ delta: { refusal: 'N' } }] }, 'N'],
  ['a response', { output: [{ type: 'reasoning' }, { type: 'message', content }] }, 'No.'],
  ['the event of one', { type: 'response.refusal.done', refusal: 'No.' }, 'No.'],
  ['a reply that refuses nothing', { choices: [{ message: { content: 'x', refusal: null } }] }, ''],
  ['nothing', undefined, ''],
  ['a list', [], ''],
])('of %s', (_, body, expected) => {
  expect(refusalOf(body)).toBe(expected);
});
