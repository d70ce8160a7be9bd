import { execFileSync } from 'node:child_process';
import { ensureBuilt, lib, root } from '../../support/build';
import { toScript } from '../../../src/tools/eval';

test('takes the types out, and keeps imports that only a later call uses', async () => {
  const stripped = await toScript("import { a } from './a';\nconst n: number = 1;");
  expect(stripped).toContain('let { a: a }');
  expect(stripped).toContain('let n = 1;');
});

test('refuses text that is not TypeScript, and says why', async () => {
  await expect(toScript('const n: = 1')).rejects.toThrow(/^SyntaxError: [^]*Nothing ran\.$/);
});

test('ends with the call', async () => {
  await expect(toScript('const n: number = 1', AbortSignal.abort())).rejects.toThrow('stopped');
});

const DEEP = 20_000;
const nested: [string, string][] = [
  ['parentheses', `${'('.repeat(DEEP)}1${')'.repeat(DEEP)}`],
  ['lists', `${'['.repeat(DEEP)}1${']'.repeat(DEEP)}`],
  ['blocks', `${'{'.repeat(DEEP)}${'}'.repeat(DEEP)}`],
  ['negations', `${'!'.repeat(DEEP)}1`],
  ['sums', `${'1+'.repeat(DEEP)}1`],
  ['choices', `${'a?b:'.repeat(DEEP)}c`],
  ['functions', `${'a=>'.repeat(DEEP)}1`],
  ['types', `let a: ${'Array<'.repeat(DEEP)}1${'>'.repeat(DEEP)}`],
];

/** In a process of its own: where the parser's stack overflows, that process ends. */
test.each(
  nested.flatMap(([name, code]): [string, string][] => [
    [name, code],
    [`${name}, with a type`, `let n: number = 1;\n${code}`],
  ]),
)('%s that are nested too deeply end nothing but the call', (_, code) => {
  ensureBuilt();
  const program = `
      const { toScript } = require(${JSON.stringify(lib('tools', 'eval', 'index.js'))});
      toScript(require('node:fs').readFileSync(0, 'utf8')).then(() => 'read', (error) => error.name + ': ' + error.message)
        .then((said) => process.stdout.write(said));`;
  const said = execFileSync(process.execPath, ['-e', program], { cwd: root, input: code, encoding: 'utf8' });
  expect(said).toMatch(/^read$|^ToolError: [^]*Nothing ran\.$/);
});
