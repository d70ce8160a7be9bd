import { leavesOf } from '../../../src/contract/text/json-diff';
import { type ArgumentsPart, leafParts, argumentParts } from '../../../src/web/model/parts';

const shape = (part: ArgumentsPart): string =>
  'rows' in part
    ? `${part.name} #${part.from}: ${part.rows.length} of ${part.columns.join()}`
    : part.leaves.map(({ name }) => name).join();

const people = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `p${n}`, home: { zip: n } }));

test.each<[string, Parameters<typeof argumentParts>[0], string[]]>([
  ['no arguments', {}, []],
  ['values', { a: 1, b: { c: [true] } }, ['a,b.c.#1']],
  ['a list of like objects', { people: people(3) }, ['people #1: 3 of name,home.zip']],
  [
    'a list inside',
    { trip: { people: people(3), to: 'x' }, on: 1 },
    ['trip.people #1: 3 of name,home.zip', 'trip.to,on'],
  ],
  [
    'a long list',
    { people: people(20) },
    ['people #1: 16 of name,home.zip', 'people #17: 4 of name,home.zip'],
  ],
  [
    'two objects',
    { people: people(2) },
    ['people.#1.name,people.#1.home.zip,people.#2.name,people.#2.home.zip'],
  ],
  ['objects that differ', { some: [{ a: 1 }, { b: 1 }, { c: 1 }] }, ['some.#1.a,some.#2.b,some.#3.c']],
])('%s', (_, args, parts) => {
  expect(argumentParts(args).map(shape)).toEqual(parts);
});

test('an object that lacks a value has an empty cell, which is not null', () => {
  const [part] = argumentParts({ rows: [{ a: 1, b: null }, { a: 2 }, { a: 3, b: 4 }] });
  expect(part).toMatchObject({
    rows: [
      [1, null],
      [2, undefined],
      [3, 4],
    ],
  });
});

test('100 KB of nested rows are fewer parts than screens are read in', () => {
  const rows = Array.from({ length: 900 }, (_, n) => ({
    ...{ id: n, sku: `AB-${n}`, price: { net: n * 3, currency: 'EUR' } },
    ...{ stock: { warehouse: 'north', left: n % 7 }, active: true },
  }));
  const args = { catalog: { name: 'all', rows } };
  expect(JSON.stringify(args).length).toBeGreaterThan(100_000);
  const parts = argumentParts(args);
  expect(parts.length).toBeLessThanOrEqual(120);
  const shown = parts.flatMap((part) =>
    'rows' in part ? part.rows.flat() : part.leaves.map(({ value }) => value),
  );
  expect(shown).toEqual(leavesOf(args).map(({ value }) => value));
});

test('a long text is alone', () => {
  const parts = leafParts(leavesOf({ a: 1, text: 'x'.repeat(2_000), b: 2 }));
  expect(parts.map(shape)).toEqual(['a', 'text', 'b']);
});
