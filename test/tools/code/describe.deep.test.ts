import {
  describeSymbol,
  functionSignature,
  listMembers,
  oneLine,
  searchSymbols,
} from '../../../src/tools/code/describe';
import { openFiles, openFolder, makeFolder, STRICT } from './support';

const members = Array.from({ length: 350 }, (_, index) => `  m${String(index).padStart(3, '0')}: number;`);
const look = openFiles({
  'src/shop.ts': `/**
 * Sells things.
 *
 * @throws Error where it is closed
 */
export class Shop extends Building implements Open {
  static count = 0;
  readonly name: string = 'x';
  private secret?: number;
  constructor(readonly street: string) { super(); }
  /** What all costs. */
  total(discount: number, ...codes: readonly string[]): Promise<number> { return Promise.resolve(0); }
  override close(): void {}
}
abstract class Building {
  protected height = 3;
  close(): void {}
}
interface Open { close(): void; (loud: boolean): string; [key: string]: unknown }
export function price(n: number): number;
export function price<T extends string>(text: T, rest?: { deep: T[] }): T;
export function price(n: unknown): unknown { return n; }
export const arrow = async ({ a, b = 2 }: { a: string; b?: number }) => a + b;
export enum Size { Small = 'S', Large = 'L' }
export namespace Tools { export const hammer = 1; export function hit(): void {} }
export type Shape = { kind: 'circle'; r: number } | { kind: 'square'; side: number };
export const table = { row: 1, nested: { cell: 'x' } };
export type Deep<T> = T extends [infer A, ...infer R] ? [A, Deep<R>] : [];
`,
  'src/many.ts': `export interface Many {\n${members.join('\n')}\n}\n`,
  'src/odd.ts':
    'export const odd = { "a\\u001b[31m\\nb": 1 };\n/** words \u001b[31m\u202e */\nexport const worded = 1;',
});

const lines = (text: string): string[] => text.split('\n');

describe('a symbol is described', () => {
  it('with its type, words and place', () => {
    expect(lines(describeSymbol(look(), { symbol: 'Shop' }))).toEqual([
      'Shop: class, exported, src/shop.ts:6:14',
      '  class Shop',
      '',
      '  Sells things.',
      '  @throws Error where it is closed',
    ]);
  });

  it.each([
    [
      'a method',
      'Shop.total',
      '(method) Shop.total(discount: number, ...codes: readonly string[]): Promise<number>',
    ],
    ['a property', 'Shop.name', '(property) Shop.name: string'],
    ['an enum member', 'Size.Small', '(enum member) Size.Small = "S"'],
    ['a type', 'Shape', "kind: 'circle'".replaceAll("'", '"')],
    ['an object', 'table', 'row: number;'],
  ])('%s', (_case, symbol, text) => {
    expect(describeSymbol(look(), { symbol })).toContain(text);
  });

  it('in every place that declares it', () => {
    expect(describeSymbol(look(), { symbol: 'price' })).toContain(
      'Declared in 3 places:\n  src/shop.ts:20:17 (function)\n  src/shop.ts:21:17 (function)\n  src/shop.ts:22:17 (function)',
    );
  });

  it('with what does not show written as numbers', () => {
    const text = describeSymbol(look(), { symbol: 'worded' });
    expect(text).toContain('words U+001B[31mU+202E');
    expect(text).not.toMatch(/[\u001b\u202e]/);
  });
});

describe('a signature', () => {
  it.each([
    [
      'of each overload',
      'price',
      ['  price(n: number): number', '  price<T extends string>(text: T, rest?: { deep: T[]; }): T'],
    ],
    ['of a constructor', 'Shop', ['  new Shop(street: string): Shop']],
    [
      'of a function in a constant',
      'arrow',
      ['  arrow({ a, b }: { a: string; b?: number; }): Promise<string>'],
    ],
    ['of what an interface can be called with', 'Tools.hit', ['  hit(): void']],
  ])('%s', (_case, symbol, signatures) => {
    expect(lines(functionSignature(look(), { symbol })).slice(1, 1 + signatures.length)).toEqual(signatures);
  });

  it('is refused for what cannot be called', () => {
    expect(() => functionSignature(look(), { symbol: 'table' })).toThrow(
      'table: constant, exported, src/shop.ts:27:14 cannot be called.',
    );
  });
});

describe('members', () => {
  it('of a class, inherited and static ones too', () => {
    expect(lines(listMembers(look(), { symbol: 'Shop' }))).toEqual([
      'Shop: class, exported, src/shop.ts:6:14',
      '  close: () => void  (src/shop.ts:13:12)',
      '  protected height: number  (src/shop.ts:16:13 from Building)',
      '  readonly name: string  (src/shop.ts:8:12)',
      '  private secret?: number | undefined  (src/shop.ts:9:11)',
      '  readonly street: string  (src/shop.ts:10:24)',
      '  total: (discount: number, ...codes: readonly string[]) => Promise<number>  (src/shop.ts:12:3)',
      '  static count: number  (src/shop.ts:7:10)',
    ]);
  });

  it.each([
    ['an enum', 'Size', ['Large: Size.Large', 'Small: Size.Small']],
    ['a namespace', 'Tools', ['hammer: 1', 'hit: () => void']],
    ['an object', 'table', ['nested: { cell: string; }', 'row: number']],
    ['a union: those that all have', 'Shape', ['kind: "circle" | "square"']],
    [
      'an interface that can be called',
      'Open',
      ['(loud: boolean): string', '[string]: unknown', 'close: () => void'],
    ],
  ])('of %s', (_case, symbol, expected) => {
    const [, ...found] = lines(listMembers(look(), { symbol }));
    expect(found.map((line) => line.trim().replace(/ {2}\(.*$/, ''))).toEqual(expected);
  });

  it('are cut after 300, and counted', () => {
    const found = lines(listMembers(look(), { symbol: 'Many' }));
    expect(found).toHaveLength(302);
    expect(found.at(-1)).toBe('  (50 more members)');
  });

  it('of what has none are refused', () => {
    expect(() => listMembers(look(), { symbol: 'arrow' })).toThrow('has no members');
  });

  it('have their names on one line', () => {
    expect(listMembers(look(), { symbol: 'odd' })).toMatch(/^ {2}aU\+001B\[31m b: number/m);
  });
});

describe('a search', () => {
  it.each([
    ['whole names first, then beginnings', { pattern: 's' }, ['Shop', 'Shop.secret', 'Shop.street']],
    ['without case', { pattern: 'SHOP' }, ['Shop']],
    [
      'one kind',
      { pattern: 'l', kind: 'method' },
      ['Open.close', 'Building.close', 'Shop.close', 'Shop.total'],
    ],
    ['one file', { pattern: 'odd', path: 'src/odd.ts' }, ['odd']],
    ['one folder', { pattern: 'worded', path: './src/' }, ['worded']],
  ])('finds %s', (_case, args, expected) => {
    const found = lines(searchSymbols(look(), args)).slice(1);
    expect(found.map((line) => line.trim().split(':')[0])).toEqual(expect.arrayContaining(expected));
  });

  it('is ordered by how well a name fits', () => {
    const found = lines(searchSymbols(look(), { pattern: 'hammer' }));
    expect(found).toEqual([
      '1 declaration with "hammer":',
      '  Tools.hammer: constant, exported, src/shop.ts:25:39',
    ]);
  });

  it.each([
    [{ pattern: 'nothing' }, 'No declaration has "nothing" in its name.'],
    [{ pattern: 'Shop', kind: 'enum' }, 'No declaration has "Shop" of kind enum in its name.'],
    [{ pattern: 'Shop', path: 'other' }, 'No declaration has "Shop" in its name.'],
    [{ pattern: 'a.*b' }, 'No declaration has "a.*b" in its name.'],
  ])('of %j finds nothing', (args, text) => {
    expect(searchSymbols(look(), args)).toBe(text);
  });

  it('is cut after 100, and counted', () => {
    const found = lines(searchSymbols(look(), { pattern: 'm', path: 'src/many.ts' }));
    expect(found[0]).toBe('351 declarations with "m":');
    expect(found.at(-1)).toBe('  (251 more declarations)');
  });
});

describe('types without end', () => {
  const deep = openFolder(
    makeFolder({
      'tsconfig.json': STRICT,
      'a.ts': `type Grow<T extends unknown[]> = Grow<[...T, ...T, 1]>;
export type Endless = Grow<[1]>;
export declare const endless: Endless;
type Wide = ${Array.from({ length: 3000 }, (_, i) => `'literal number ${i}'`).join(' | ')};
export declare function wide(a: Wide): Wide;
interface Self { self: Self[]; map: Map<Self, Self> }
export declare const self: Self;
`,
    }),
  );

  it.each([
    ['describe', (symbol: string) => describeSymbol(deep(), { symbol })],
    ['signature', (symbol: string) => functionSignature(deep(), { symbol })],
  ])('do not make a %s long', (_case, ask) => {
    expect(ask('wide').length).toBeLessThan(10_000);
  });

  it('have a description', () => {
    expect(describeSymbol(deep(), { symbol: 'endless' })).toContain('endless');
    expect(listMembers(deep(), { symbol: 'self' })).toContain('self: Self[]');
  });
});

it.each([
  ['a\n  b\tc', 99, 'a b c'],
  ['abcdef', 3, 'abc… (3 more characters)'],
  ['a\u0000b', 9, 'aU+0000b'],
])('writes %j in %d characters on one line', (text, most, line) => {
  expect(oneLine(text, most)).toBe(line);
});
