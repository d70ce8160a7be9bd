import { findReference, partsOf } from '../../../src/contract/schema/reference';

const root = {
  $defs: { id: { type: 'string' }, 'a/b~c': { type: 'number' }, list: [{ const: 1 }] },
  properties: { x: { $anchor: 'here', type: 'null' } },
  default: { $anchor: 'data' },
};

test.each<[string, unknown]>([
  ['#', root],
  ['#/$defs/id', { type: 'string' }],
  ['#/$defs/a~1b~0c', { type: 'number' }],
  ['#/%24defs/id', { type: 'string' }],
  ['#/$defs/list/0', { const: 1 }],
  ['#here', { $anchor: 'here', type: 'null' }],
  ['#/$defs/none', undefined],
  ['#/$defs/id/toString', undefined],
  ['#nowhere', undefined],
  ['#/%E0%A4%A', undefined],
  ['https://example.com/schema', undefined],
])('%s', (reference, found) => {
  expect(findReference(root, reference)).toEqual(found);
});

test('an anchor in data is not one', () => {
  expect(findReference(root, '#data')).toBeUndefined();
});

test('the name of a property does not count as an anchor', () => {
  expect(findReference({ properties: { $anchor: { type: 'string' } } }, '#x')).toBeUndefined();
});

test('parts of a schema are schemas, and no data', () => {
  const schema = {
    ...{ properties: { enum: { type: 'string' }, b: true }, enum: [{ type: 'x' }], default: { a: {} } },
    ...{ anyOf: [{ minimum: 1 }, false], items: { const: {} }, unknown: { type: 'null' } },
  };
  expect(partsOf(schema)).toEqual([
    { keyword: 'properties', name: 'enum', schema: { type: 'string' } },
    { keyword: 'anyOf', name: 0, schema: { minimum: 1 } },
    { keyword: 'items', schema: { const: {} } },
  ]);
});
