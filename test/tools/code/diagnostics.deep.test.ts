import { codeDiagnostics } from '../../../src/tools/code/diagnostics';
import { makeFolder, openFiles, openFolder, STRICT } from './support';

const look = openFiles({
  'b.ts': 'export const b: string = 1;\n',
  'a.ts':
    'export const a = {\n  x: missing,\n};\nconst wide: { deep: { er: string } } = { deep: { er: 1 } };\n',
  'syntax.ts': 'export const = 1;\n',
  'fine.ts': 'export const fine = 1;\n',
  'unknown.ts':
    'declare const f: (x: { a: { b: string } }) => void;\ndeclare const g: (x: { a: { b: number } }) => void;\nexport const h: typeof f = g;\n',
});

it('of the whole project come by file and position, with code and reasons', () => {
  const found = codeDiagnostics(look(), {}).split('\n');
  expect(found[0]).toMatch(/^TypeScript \d+\.\d+\.\d+, tsconfig\.json: \d+ messages in 4 files\.$/);
  expect(found).toEqual(
    expect.arrayContaining([
      "a.ts:2:6: error TS2304: Cannot find name 'missing'.",
      "b.ts:1:14: error TS2322: Type 'number' is not assignable to type 'string'.",
      "  Types of parameters 'x' and 'x' are incompatible.".replace('  ', '    '),
    ]),
  );
  const places = found.filter((line) => /^\w+\.ts:/.test(line)).map((line) => line.split('.')[0]);
  expect(places).toEqual([...places].sort());
});

it('of one file are its own', () => {
  const text = codeDiagnostics(look(), { file: 'b.ts' });
  expect(text).toMatch(/^TypeScript \S+, b\.ts: 1 message in 1 file\.\nb\.ts:1:14: error TS2322/);
});

it.each([
  ['a file without errors', 'fine.ts', /fine\.ts: no errors\.$/],
  ['a file with wrong syntax', 'syntax.ts', /syntax\.ts:1:14: error TS\d+: /],
])('of %s', (_case, file, text) => {
  expect(codeDiagnostics(look(), { file })).toMatch(text);
});

it.each([
  ['outside', '../x.ts', 'is outside the workspace'],
  ['missing', 'none.ts', 'There is no such source file.'],
])('of a file %s are refused', (_case, file, words) => {
  expect(() => codeDiagnostics(look(), { file })).toThrow(words);
});

it('are cut after 100, and counted', () => {
  const many = openFiles({ 'a.ts': 'missing;\n'.repeat(150) });
  const found = codeDiagnostics(many(), {}).split('\n');
  expect(found).toHaveLength(102);
  expect(found.at(-1)).toBe('(50 more messages; ask for one file)');
});

it('of a JavaScript project', () => {
  const js = openFolder(
    makeFolder({
      'tsconfig.json': '{"compilerOptions":{"allowJs":true,"checkJs":true,"lib":["es2022"],"types":[]}}',
      'a.js': '/** @type {string} */\nexport const a = 1;\n',
    }),
  );
  expect(codeDiagnostics(js(), {})).toContain(
    "a.js:2:14: error TS2322: Type 'number' is not assignable to type 'string'.",
  );
});

it('of a project of declaration files alone', () => {
  const typed = openFiles({ 'a.d.ts': 'export declare const a: Missing;' });
  expect(codeDiagnostics(typed(), {})).toContain("a.d.ts:1:25: error TS2304: Cannot find name 'Missing'.");
});

it('tell of a file too large to be read', () => {
  const huge = openFolder(
    makeFolder({
      'tsconfig.json': STRICT,
      'a.ts': 'export const a = 1;',
      'huge.ts': ' '.repeat(17 * 1024 * 1024),
    }),
  );
  expect(codeDiagnostics(huge(), {})).toContain('no errors.\n(huge.ts has over 16 MiB and was not read)');
});

it('of a type without end is a message', () => {
  const deep = openFiles({
    'a.ts':
      'type Grow<T extends unknown[]> = { a: Grow<[...T, ...T, 1]>["a"] }["a"];\nexport type E = Grow<[1]>;\n',
  });
  expect(codeDiagnostics(deep(), {})).toMatch(/error TS(2589|2615|2456|2536|2339)/);
});
