import { partReader, soundCheck } from '../../../src/contract/schema/message';
import { exact, jsonObject, list, oneOf, text } from '../../../src/contract/schema/shape';

const schema = exact(
  { id: text({ minLength: 1 }) },
  { tags: list(text(), { maxItems: 2 }), kind: oneOf(['a', 'b']), more: jsonObject() },
);

test.each<[string, unknown, boolean]>([
  ['all fields', { id: 'x', tags: ['t'], kind: 'b', more: { n: 1 } }, true],
  ['one that is required is missing', { kind: 'a' }, false],
  ['too many items', { id: 'x', tags: ['1', '2', '3'] }, false],
  ['another field', { id: 'x', extra: 1 }, false],
  ['a number that JSON cannot write', { id: 'x', more: { n: Infinity } }, false],
  ['a key __proto__', JSON.parse('{"id":"x","more":{"__proto__":1}}'), false],
  ['a list', [], false],
])('%s: fits %s', (_, message, fits) => {
  expect(soundCheck(schema)(message).length === 0).toBe(fits);
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
