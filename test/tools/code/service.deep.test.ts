import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive } from '../../../src/lock';
import {
  findCodeService,
  findTypeScript,
  type CodeSettings,
  type CodeQuestion,
} from '../../../src/tools/code/service';
import { ensureBuilt, lib } from '../../support/build';
import { until } from '../../support/until';
import { makeFolder, STRICT, writeFiles } from './support';

beforeAll(ensureBuilt);

const typescript = require.resolve('typescript');
const settingsOf = (
  texts: Readonly<Record<string, string>>,
  more: Partial<CodeSettings> = {},
): CodeSettings => ({
  ...{ typescript, root: makeFolder(texts), projects: ['tsconfig.json'], heapMb: 1024 },
  ...more,
});

/** Ten thousand texts for each line, and there are many lines: nothing waits for their end. */
const DIGITS = '${Digit}'.repeat(4);
const ENDLESS = [
  'type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;',
  ...Array.from(
    { length: 2000 },
    (_, n) =>
      `declare const a${n}: \`${DIGITS}-${n}\`; declare let b${n}: \`${DIGITS}-${n}\` | 'x${n}'; b${n} = a${n};`,
  ),
].join('\n');

const describing = (symbol: string): CodeQuestion => ({ name: 'describe_code_symbol', args: { symbol } });
const checking: CodeQuestion = { name: 'code_diagnostics', args: {} };
const never = new AbortController().signal;

it('answers questions that come at once one after the other', async () => {
  const service = findCodeService(
    settingsOf({ 'tsconfig.json': STRICT, 'a.ts': 'export const a = 1; export const b = 2;' }),
  );
  const answers = await Promise.all(['a', 'b', 'a'].map((name) => service.ask(describing(name), never)));
  expect(answers.map((text) => text.split('\n')[1])).toEqual([
    '  const a: 1',
    '  const b: 2',
    '  const a: 1',
  ]);
});

it('is one for all packs with the same settings', () => {
  const settings = settingsOf({});
  expect(findCodeService({ ...settings })).toBe(findCodeService(settings));
  expect(findCodeService({ ...settings, heapMb: 512 })).not.toBe(findCodeService(settings));
});

it('ends a check that takes too long, and the next question has an answer', async () => {
  const settings = settingsOf({ 'tsconfig.json': STRICT, 'slow.ts': ENDLESS, 'a.ts': 'export const a = 1;' });
  const service = findCodeService(settings);
  await service.ask(describing('a'), never);
  const abort = new AbortController();
  const checked = service.ask(checking, abort.signal);
  const waiting = service.ask(describing('a'), never);
  setImmediate(() => abort.abort());
  await expect(checked).rejects.toThrow(
    'TypeScript was still at work and was ended; the next call starts it anew',
  );
  expect(await waiting).toContain('const a: 1');
});

it('does not ask for who gave up while others were served', async () => {
  const service = findCodeService(settingsOf({ 'tsconfig.json': STRICT, 'a.ts': 'export const a = 1;' }));
  const first = service.ask(describing('a'), never);
  await expect(service.ask(describing('a'), AbortSignal.abort())).rejects.toThrow(
    'it waited for another question',
  );
  expect(await first).toContain('const a: 1');
});

it('says that memory ran out, and is there for the next question', async () => {
  const settings = settingsOf({ 'tsconfig.json': STRICT, 'a.ts': 'export const a = 1;' }, { heapMb: 16 });
  const service = findCodeService(settings);
  for (const _again of [1, 2])
    await expect(service.ask(describing('a'), never)).rejects.toThrow(
      'TypeScript took more memory than it may (16 MiB) and was ended.',
    );
});

it('gives TypeScript nothing of the environment, and says no path of this machine', async () => {
  const settings = settingsOf({
    'tsconfig.json': '{"files":["a.ts","missing.ts"],"compilerOptions":{"lib":["es2022"],"types":[]}}',
    'a.ts': 'export const a = 1;',
  });
  const text = await findCodeService(settings).ask(checking, never);
  expect(text).toContain("File 'missing.ts' not found.");
  expect(text).not.toContain(dirname(settings.root));
});

it('says that a folder is missing, and finds it once it is there', async () => {
  const folder = makeFolder({});
  const service = findCodeService({
    typescript,
    root: `${folder}/later`,
    projects: ['tsconfig.json'],
    heapMb: 512,
  });
  await expect(service.ask(describing('a'), never)).rejects.toThrow('TypeScript failed: ENOENT');
  writeFiles(folder, { 'later/tsconfig.json': STRICT, 'later/a.ts': 'export const a = 1;' });
  expect(await service.ask(describing('a'), never)).toContain('const a: 1');
});

(process.platform === 'linux' ? it : it.skip)(
  'ends with its worker, also in the middle of a check',
  async () => {
    const settings = settingsOf({
      'tsconfig.json': STRICT,
      'slow.ts': ENDLESS,
      'a.ts': 'export const a = 1;',
    });
    const script = `
    const { findCodeService } = require(${JSON.stringify(lib('tools', 'code', 'service.js'))});
    const service = findCodeService(${JSON.stringify(settings)});
    const { signal } = new AbortController();
    service.ask(${JSON.stringify(describing('a'))}, signal).then(() => {
      void service.ask(${JSON.stringify(checking)}, signal);
      console.log('checking');
    });`;
    const worker = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(worker.stdout, 'data');
    const children = readFileSync(`/proc/${worker.pid}/task/${worker.pid}/children`, 'utf8').trim();
    expect(isAlive(Number(children))).toBe(true);
    worker.kill('SIGKILL');
    await until('the end of TypeScript', () => !isAlive(Number(children)));
  },
);

describe('a TypeScript that cannot be used is refused', () => {
  const folder = makeFolder({
    'old/package.json': '{"name":"typescript","version":"4.9.5","main":"lib/typescript.js"}',
    'old/lib/typescript.js': '',
    'new/package.json': '{"name":"typescript","version":"7.0.2","main":"lib/typescript.js"}',
    'new/lib/typescript.js': "require('fs').writeFileSync(__dirname + '/ran', '')",
    'alone.js': '',
  });

  it.each([
    ['that is not there', 'typescript-of-nobody', 'the package "typescript-of-nobody" is not installed'],
    ['that is too old', join(folder, 'old'), 'is version 4.9.5, which has no language service for it'],
    ['that is too new', join(folder, 'new'), 'is version 7.0.2, which has no language service for it'],
    ['that is another file', join(folder, 'alone.js'), 'is version unknown'],
  ])('%s', (_case, typescript, why) => {
    const make = (): unknown => findTypeScript(typescript);
    expect(make).toThrow(why);
    expect(make).toThrow(
      expect.objectContaining({
        code: 'not_installed',
        hint: expect.stringContaining('npm install typescript@6'),
        data: { name: typescript },
      }),
    );
  });
});
