import {
  jsonSchemaOf,
  messageCheck,
  partReader,
  soundCheck,
  type MessageSchema,
} from '../../../src/contract/schema/message';

const schema = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 1 },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    kind: { enum: ['a', 'b'] },
    more: { type: 'object' },
  },
  required: ['id'],
  additionalProperties: false,
} as const satisfies MessageSchema;

test('the schema as plain JSON', () => {
  expect(jsonSchemaOf(schema)).toEqual(JSON.parse(JSON.stringify(schema)));
});

test.each<[string, unknown, boolean]>([
  ['all fields', { id: 'x', tags: ['t'], kind: 'b', more: { n: 1 } }, true],
  ['one that is required is missing', { kind: 'a' }, false],
  ['too many items', { id: 'x', tags: ['1', '2', '3'] }, false],
  ['another field', { id: 'x', extra: 1 }, false],
  ['a number that JSON cannot write', { id: 'x', more: { n: Infinity } }, false],
  ['a key __proto__', JSON.parse('{"id":"x","more":{"__proto__":1}}'), false],
  ['a list', [], false],
])('%s: fits %s', (_, message, fits) => {
  expect(messageCheck(schema)(message).length === 0).toBe(fits);
});

test('more than 100 levels do not fit any schema', () => {
  let deep: unknown = {};
  for (let level = 0; level < 200; level++) deep = { deep };
  expect(soundCheck({})(deep)).toHaveLength(1);
});

test.each<[string, unknown, object]>([
  ['fields that do not fit are left out', { id: '', kind: 'a', tags: 5 }, { kind: 'a' }],
  ['a field nobody knows is left out', { id: 'x', extra: 1 }, { id: 'x' }],
  ['a text gives nothing', 'x', {}],
  ['nothing gives nothing', undefined, {}],
])('part of a message: %s', (_, message, part) => {
  expect(partReader(schema)(message)).toEqual(part);
});
