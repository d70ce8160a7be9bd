import { findTarget, lineAndColumn, sourceOf } from '../../../src/tools/code/symbols';
import { openFiles } from './support';

const look = openFiles({
  'src/shop.ts': `import { price as cost } from './price';
export class Shop {
  static open = true;
  private readonly name = 'x';
  total(): number { return cost(1); }
  get rate() { return 1; }
  'odd name'() {}
}
export interface Item { name: string; total: number }
export type Kind = { small: 1 } ;
export enum Size { S, L }
export namespace Deep { export namespace Deeper { export const inner = 1; } }
export const table = { row: 1, 'a b': 2 } as const;
const { first, second: [other] } = { first: 1, second: [2] };
function run() {}
export default function () {}
`,
  'src/price.ts': `export function price(n: number): number;
export function price(n: string): string;
export function price(n: any) { return n; }
function run() {}
export interface Both { a: 1 }
export const Both = 1;
`,
  'src/old.ts': 'function run() {}',
  'lib/price.d.ts':
    'export declare function price(n: number): number;\nexport declare function onlyTyped(): void;',
  'src/reexport.ts': "export { price } from './price';",
  'src/nameless.ts': 'export default class { method() {} }',
});

const place = (given: string): string => {
  const bench = look();
  const [declaration] = findTarget(bench, given).symbol.declarations ?? [];
  if (declaration === undefined) throw new Error('no declaration');
  const name = bench.ts.getNameOfDeclaration(declaration) ?? declaration;
  return lineAndColumn(bench, declaration.getSourceFile(), name.getStart());
};

describe('a symbol is named', () => {
  it.each([
    ['by its name', 'Shop', 'src/shop.ts:2:14'],
    ['with blanks around', ' Shop ', 'src/shop.ts:2:14'],
    ['as a method', 'Shop.total', 'src/shop.ts:5:3'],
    ['as an accessor', 'Shop.rate', 'src/shop.ts:6:7'],
    ['as a static member', 'Shop.open', 'src/shop.ts:3:10'],
    ['as a member in quotes', 'Shop.odd name', 'src/shop.ts:7:3'],
    ['as a member of an interface', 'Item.total', 'src/shop.ts:9:39'],
    ['as a member of a type', 'Kind.small', 'src/shop.ts:10:22'],
    ['as a member of an enum', 'Size.L', 'src/shop.ts:11:23'],
    ['in a namespace', 'Deep.Deeper.inner', 'src/shop.ts:12:64'],
    ['by the end of its path', 'Deeper.inner', 'src/shop.ts:12:64'],
    ['by a member alone that stands once', 'rate', 'src/shop.ts:6:7'],
    ['as a property of an object', 'table.row', 'src/shop.ts:13:24'],
    ['out of a pattern', 'other', 'src/shop.ts:14:25'],
    ['with overloads, which are one', 'price', 'src/price.ts:1:17'],
    ['as a type and a value, which are one', 'Both', 'src/price.ts:5:18'],
    ['in a declaration file', 'onlyTyped', 'lib/price.d.ts:2:25'],
    ['in one of several files', 'src/price.ts:run', 'src/price.ts:4:10'],
    ['in a file, with its class', 'src/shop.ts:Shop.total', 'src/shop.ts:5:3'],
    ['in a file with ./', './src/shop.ts:Shop', 'src/shop.ts:2:14'],
    ['by a place where it is declared', 'src/shop.ts:5:3', 'src/shop.ts:5:3'],
    ['by a place in its name', 'src/shop.ts:5:5', 'src/shop.ts:5:3'],
    ['by a place where it is used', 'src/shop.ts:5:28', 'src/price.ts:1:17'],
    ['by a place where it is imported', 'src/shop.ts:1:10', 'src/price.ts:1:17'],
    ['by a place where it is exported again', 'src/reexport.ts:1:10', 'src/price.ts:1:17'],
    ['as default of a file', 'src/shop.ts:default', 'src/shop.ts:16:1'],
    ['as default class of a file', 'src/nameless.ts:default', 'src/nameless.ts:1:1'],
    ['as a member of a class without a name', 'default.method', 'src/nameless.ts:1:24'],
  ])('%s', (_case, given, expected) => {
    expect(place(given)).toBe(expected);
  });
});

describe('a name that stands for several', () => {
  it('is answered with all of them, and how to name one', () => {
    expect(() => place('run')).toThrow(
      [
        '"run" names 3 symbols. Give one of these places, or path/file.ts:name:',
        '  src/old.ts:1:10 (function)',
        '  src/price.ts:4:10 (function)',
        '  src/shop.ts:15:10 (function)',
      ].join('\n'),
    );
  });

  it('says so of members too', () => {
    expect(() => place('total')).toThrow('"total" names 2 symbols');
  });
});

describe('a name that nothing has', () => {
  it.each([
    ['with a letter wrong', 'pricee', 'Near names: price.'],
    ['in another case', 'SHOP', 'Near names: Shop'],
    ['as a part of a name', 'Typed', 'Near names: onlyTyped.'],
    ['unlike any', 'zzzzzzzz', 'Find names with search_code_symbols.'],
    ['with control characters', 'a\u001b[31m\n', '"a\\u001b[31m\\n"'],
    ['that is a path in JavaScript', '__proto__', 'declares "__proto__"'],
    ['that is empty', ' ', 'declares " "'],
  ])('%s', (_case, given, words) => {
    expect(() => place(given)).toThrow(words);
  });

  it('is shown cut', () => {
    expect(() => place('x'.repeat(1000))).toThrow(`"${'x'.repeat(200)}"`);
  });
});

describe('a place', () => {
  it.each([
    ['outside the root', '../a.ts:1:1', 'is outside the workspace'],
    ['with an absolute path', '/etc/a.ts:1:1', 'is outside the workspace'],
    ['in a file outside the root', '../a.ts:name', 'is outside the workspace'],
    ['in a missing file', 'src/none.ts:1:1', 'There is no such source file.'],
    ['in a file that is not a source', 'tsconfig.json:1:1', 'It is there, but no config includes it.'],
    ['past the last line', 'src/old.ts:9:1', 'has no line 9'],
    ['past the end of its line', 'src/shop.ts:2:99', 'has no line 2 with a column 99'],
    ['in line 0', 'src/shop.ts:0:1', 'has no line 0'],
    ['in column 0', 'src/shop.ts:1:0', 'has no line 1 with a column 0'],
    ['where no name stands', 'src/old.ts:1:16', 'There is no name at src/old.ts:1:16'],
    ['with a number without end', `src/old.ts:${'9'.repeat(30)}:1`, 'has no line'],
  ])('%s is refused', (_case, given, words) => {
    expect(() => place(given)).toThrow(words);
  });

  it('is a source of its project', () => {
    expect(sourceOf(look(), 'src/old.ts').source.fileName).toMatch(/\/src\/old\.ts$/);
  });
});
