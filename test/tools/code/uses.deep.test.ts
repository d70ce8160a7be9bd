import { findCallers, findReferences, typeHierarchy } from '../../../src/tools/code/uses';
import { makeFolder, openFiles, openFolder } from './support';

const look = openFiles({
  'src/price.ts': `export function price(n: number): number { return n; }
export let rate = 1;
export const listed: Partial<typeof price> = price;
export class Box { open(): void {} }
export function tag(parts: TemplateStringsArray): string { return parts[0] ?? ''; }
`,
  'src/shop.ts': `import { price, rate, tag, Box } from './price';
export { price } from './price';
rate;
price(0);
export class Shop {
  field = price(1);
  constructor() { price(2); }
  total(): number { return [1].map((n) => price(n) + price(n + 1))[0] ?? 0; }
  get rate(): number { return price(4); }
}
export const arrow = () => { const inner = function () { price(5); }; return inner; };
export const object = { method() { return price(6); }, value: () => (price)(7) };
const boxes: Box[] = [new Box()];
boxes[0]!.open();
tag\`text\`;
const passed = [1].map(price);
export const first = boxes[0] satisfies Box | undefined;
`,
  'src/write.ts': `let counter = 0;
counter = 1;
counter++;
export const read = counter;
`,
  'src/data.json': '{"token": "very secret"}',
  'src/types.ts': `export class Base {}
export interface Named { name: string }
export interface Titled extends Named { title: string }
export abstract class Middle<T> extends Base implements Named { name = ''; item?: T }
export class Leaf extends Middle<string> implements Titled { title = ''; }
export class Other extends Middle<number> {}
export const Anonymous = class extends Leaf {};
export class Oops extends Error {}
interface Circle extends Circle2 {}
interface Circle2 extends Circle {}
export type Alias = Named;
export class Aliased implements Alias { name = ''; }
`,
});
const lines = (text: string): string[] => text.split('\n');

describe('references', () => {
  it('say what is done in each place, and show the line', () => {
    expect(lines(findReferences(look(), { symbol: 'counter' }))).toEqual([
      'counter: variable, src/write.ts:1:5',
      '3 references in 1 file, declarations left out:',
      '  src/write.ts:2:1: write: counter = 1;',
      '  src/write.ts:3:1: write: counter++;',
      '  src/write.ts:4:21: read: export const read = counter;',
    ]);
  });

  it('name imports, exports, calls, types and values passed on', () => {
    const text = findReferences(look(), { symbol: 'src/price.ts:price' });
    for (const line of [
      '  src/price.ts:3:37: type: export const listed: Partial<typeof price> = price;',
      '  src/price.ts:3:46: read: export const listed: Partial<typeof price> = price;',
      "  src/shop.ts:1:10: import: import { price, rate, tag, Box } from './price';",
      "  src/shop.ts:2:10: export: export { price } from './price';",
      '  src/shop.ts:4:1: call: price(0);',
      '  src/shop.ts:16:24: read: const passed = [1].map(price);',
    ])
      expect(lines(text)).toContain(line);
  });

  it('name a class or interface that is extended or implemented', () => {
    expect(lines(findReferences(look(), { symbol: 'Base' }))).toEqual([
      'Base: class, exported, src/types.ts:1:14',
      '1 reference in 1 file, declarations left out:',
      "  src/types.ts:4:41: supertype: export abstract class Middle<T> extends Base implements Named { name = ''; item?: T }",
    ]);
  });

  it('of what nothing uses', () => {
    expect(findReferences(look(), { symbol: 'Oops' })).toBe(
      'Oops: class, exported, src/types.ts:8:14\nNothing else refers to it.',
    );
  });

  it('are cut after 200, and counted; long lines are cut', () => {
    const many = openFiles({ 'a.ts': `let used = 0;\n${'used;\n'.repeat(250)}used; // ${'x'.repeat(500)}` });
    const found = lines(findReferences(many(), { symbol: 'used' }));
    expect(found).toHaveLength(203);
    expect(found[1]).toBe('251 references in 1 file, declarations left out:');
    expect(found.at(-1)).toBe('  (51 more references)');
  });

  it('show no line of a JSON file', () => {
    const json = openFolder(
      makeFolder({
        'tsconfig.json':
          '{"compilerOptions":{"resolveJsonModule":true,"module":"esnext","moduleResolution":"bundler","types":[],"lib":["es2022"]}}',
        'data.json': '{"token": "very secret"}',
        'a.ts': "import data from './data.json';\nexport const t = data.token;\n",
      }),
    );
    const text = findReferences(json(), { symbol: 'a.ts:2:23' });
    expect(text).toContain('a.ts:2:23: read');
    expect(text).not.toContain('very secret');
  });
});

describe('callers', () => {
  it('are the functions around each call', () => {
    expect(lines(findCallers(look(), { symbol: 'src/price.ts:price' }))).toEqual([
      'price: function, exported, src/price.ts:1:17',
      '9 calls from 8 places; each with its lines and columns:',
      '  src/shop.ts (top level): 4:1',
      '  src/shop.ts Shop.field (property): 6:11',
      '  src/shop.ts Shop.constructor (constructor): 7:19',
      '  src/shop.ts Shop.total (method): 8:43, 8:54',
      '  src/shop.ts Shop.rate (accessor): 9:31',
      '  src/shop.ts arrow.inner (function): 11:58',
      '  src/shop.ts object.method (method): 12:43',
      '  src/shop.ts object.value (method): 12:70',
    ]);
  });

  it.each([
    ['a constructor by new', 'Box', '13:27'],
    ['a method', 'Box.open', '14:11'],
    ['a template', 'tag', '15:1'],
  ])('call %s', (_case, symbol, place) => {
    expect(findCallers(look(), { symbol })).toContain(`src/shop.ts (top level): ${place}`);
  });

  it('of what is only passed on are none, and that is said', () => {
    expect(findCallers(look(), { symbol: 'src/price.ts:rate' })).toContain('Nothing calls it by its name.');
  });

  it('in other projects are found', () => {
    const config = (more: object): string =>
      JSON.stringify({
        compilerOptions: { composite: true, lib: ['es2022'], types: [] },
        include: ['*.ts'],
        ...more,
      });
    const monorepo = openFolder(
      makeFolder({
        'core/tsconfig.json': config({}),
        'core/core.ts': 'export function core(): void {}',
        'app/tsconfig.json': config({ references: [{ path: '../core' }] }),
        'app/app.ts': "import { core } from '../core/core';\nexport function main(): void { core(); }\n",
      }),
      ['core/tsconfig.json', 'app/tsconfig.json'],
    );
    expect(findCallers(monorepo(), { symbol: 'core' })).toContain('app/app.ts main (function): 2:32');
  });
});

describe('a hierarchy', () => {
  it('goes up and down', () => {
    expect(lines(typeHierarchy(look(), { symbol: 'Middle' }))).toEqual([
      'Middle: class, exported, src/types.ts:4:23',
      'Supertypes:',
      '  extends Base (class, src/types.ts:1:14)',
      '  implements Named (interface, src/types.ts:2:18)',
      'Subtypes:',
      '  Leaf (class, src/types.ts:5:14) extends it',
      '    Anonymous (class, src/types.ts:7:14) extends it',
      '  Other (class, src/types.ts:6:14) extends it',
    ]);
  });

  it.each([
    ['what implements an interface', 'Named', '  Middle (class, src/types.ts:4:23) implements it'],
    ['what extends an interface', 'Named', '  Titled (interface, src/types.ts:3:18) extends it'],
    ['what implements it by an alias', 'Named', '  Aliased (class, src/types.ts:12:14) implements it'],
    ["a class of the language's library", 'Oops', '  extends Error (interface, typescript/lib.es5.d.ts:'],
    ['nothing', 'Oops', 'Nothing extends or implements it.'],
    ['nothing above', 'Base', 'It extends and implements nothing.'],
  ])('shows %s', (_case, symbol, line) => {
    expect(typeHierarchy(look(), { symbol })).toContain(line);
  });

  it('in a circle ends', () => {
    expect(typeHierarchy(look(), { symbol: 'Circle' })).toContain('Circle2');
  });

  it('is refused for other symbols', () => {
    expect(() => typeHierarchy(look(), { symbol: 'arrow' })).toThrow('is neither a class nor an interface.');
  });
});
