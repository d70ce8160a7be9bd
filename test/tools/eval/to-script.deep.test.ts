import { toScript } from '../../../src/tools/eval';

const IMPORT = '__countersign_import';

it.each([
  ['plain code stays', 'let a = 1;\nawait a; // x', 'let a = 1;\nawait a; // x'],
  ['names that may be declared again', 'const a = 1; { const b = 1 }', 'let a = 1; { const b = 1 }'],
  ['a whole module', `import 'x';`, `await ${IMPORT}('x');`],
  [
    'names',
    `import a, { b, c as d, default as e } from 'x';`,
    `let { default: a, b: b, c: d, default: e } = await ${IMPORT}('x');`,
  ],
  ['a namespace', `import * as fs from 'fs'`, `let fs = await ${IMPORT}('fs');`],
  [
    'a namespace and a default',
    `import a, * as b from 'x'`,
    `let b = await ${IMPORT}('x');let { default: a } = b;`,
  ],
  ['names in quotes', `import { 'a b' as c } from 'x'`, `let { 'a b': c } = await ${IMPORT}('x');`],
  [
    'attributes',
    `import a from './a.json' with { type: 'json' }`,
    `let { default: a } = await ${IMPORT}('./a.json', { with: { type: 'json' } });`,
  ],
  ['calls, also inside', `f(() => import('x')); import('y')`, `f(() => ${IMPORT}('x')); ${IMPORT}('y')`],
  ['the word in a text', `let s = "import('x')"`, `let s = "import('x')"`],
  ['what is exported', `export const a = 1; export default a; export { a as b };`, `let a = 1; a; `],
  ['an object', '{ a: 1 }', '({ a: 1 }\n)'],
  ['a block', '{ const a = 1; a }', '{ const a = 1; a }'],
  ['a script that is no module', 'with (x) { y }', 'with (x) { y }'],
])('%s', async (_case, code, expected) => {
  expect(await toScript(code)).toBe(expected);
});

it.each([
  ['types', 'const a: number = 1; interface B { c: string } a as unknown', /^let a = 1;\na;?$/],
  [
    'an import that only a later call uses',
    `import { readFile } from 'fs'; let x: string`,
    /readFile: readFile/,
  ],
  ['an import of types', `import type { A } from 'x'; let x: A = 1`, /^let x = 1;$/],
  ['an enum', 'enum E { A, B } E.B', /E\[E\["A"\] = 0\]/],
])('takes TypeScript: %s', async (_case, code, expected) => {
  expect((await toScript(code)).trim()).toMatch(expected);
});

it.each([
  ['let a = ;', /Expression expected/],
  ['function (', /Nothing ran/],
  ['const a: = 1', /Nothing ran/],
  ['import x', /Nothing ran/],
  ['\u0000', /Nothing ran/],
  ['('.repeat(500), /Nothing ran/],
])('refuses %j', async (code, message) => {
  await expect(toScript(code)).rejects.toThrow(message);
});
