import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { codeDiagnostics } from '../../../src/tools/code/diagnostics';
import { describeSymbol } from '../../../src/tools/code/describe';
import { makeFolder, openFolder, STRICT, writeFiles } from './support';

const opened = (texts: Readonly<Record<string, string>>, configs?: readonly string[]) => {
  const folder = makeFolder(texts);
  const look = openFolder(folder, configs);
  return {
    folder,
    look,
    describe: (symbol: string) => describeSymbol(look(), { symbol }),
    check: () => codeDiagnostics(look(), {}),
  };
};

const sourcesOf = (look: ReturnType<typeof openFolder>): string[] => {
  const { projects, files } = look();
  return projects.flatMap(({ sources }) => sources.map(({ fileName }) => files.shown(fileName))).sort();
};

describe('which files belong to a project', () => {
  it.each([
    ['include', { include: ['src'] }, ['src/a.ts', 'src/deep/b.tsx']],
    ['exclude', { exclude: ['src/deep'] }, ['other.ts', 'src/a.ts']],
    ['files', { files: ['other.ts'] }, ['other.ts']],
    [
      'allowJs',
      { include: ['src'], compilerOptions: { allowJs: true } },
      ['src/a.ts', 'src/c.js', 'src/deep/b.tsx'],
    ],
    [
      'a folder outside, which is not read',
      { include: ['src', '../**/*', '/etc/**/*'] },
      ['src/a.ts', 'src/deep/b.tsx'],
    ],
    ['an absolute folder outside', { include: ['/'] }, []],
    ['a file outside, which is not read', { files: ['other.ts', '/etc/x.ts'] }, ['other.ts']],
  ])('honours %s', (_case, config: object, expected) => {
    const { compilerOptions = {} }: { compilerOptions?: object } = config;
    const text = JSON.stringify({
      ...config,
      compilerOptions: { types: [], lib: ['es2022'], ...compilerOptions },
    });
    const { look, folder } = opened({
      'tsconfig.json': text,
      'src/a.ts': 'export {}',
      'src/deep/b.tsx': 'export {}',
      'src/c.js': 'export {}',
      'other.ts': 'export {}',
      'node_modules/pack/d.ts': 'export {}',
      '.git/e.ts': 'export {}',
    });
    // A pattern that leads above the root is looked for below it alone.
    expect(sourcesOf(look).filter((file) => expected.includes(file))).toEqual(expected);
    expect(sourcesOf(look).some((file) => file.includes('.git') || file.includes('node_modules'))).toBe(
      false,
    );
    expect(folder).toBe(look().files.root);
  });

  it('reads no link out of the root, neither by include nor by import', () => {
    const outside = makeFolder({ 'secret.ts': 'export const secret = 1' });
    const { folder, look, check } = opened({
      'tsconfig.json': STRICT,
      'a.ts': "import { secret } from './link'; secret",
    });
    symlinkSync(join(outside, 'secret.ts'), join(folder, 'link.ts'));
    symlinkSync(outside, join(folder, 'folder'));
    expect(sourcesOf(look)).toEqual(['a.ts']);
    expect(check()).toContain("a.ts:1:24: error TS2307: Cannot find module './link'");
  });
});

describe('a config', () => {
  it('that is missing gives words for whoever runs the agent', () => {
    const { look } = opened({ 'a.ts': '' });
    expect(look).toThrow(/^There is no readable "tsconfig\.json" .* option project of createCodeTools/);
  });

  it.each([
    ['that is broken', '{"compilerOptions": {"strict": tru', 'error TS'],
    ['that is not one', '[]', 'error TS'],
    [
      'with an unknown option',
      '{"compilerOptions":{"strickt":true}}',
      "error TS5025: Unknown compiler option 'strickt'",
    ],
    ['that extends itself', '{"extends":"./tsconfig.json"}', 'error TS18000: Circularity detected'],
    ['that extends a missing one', '{"extends":"./base.json"}', 'error TS5083: Cannot read file'],
    ['that extends one outside', '{"extends":"/etc/tsconfig.json"}', 'error TS'],
  ])('%s is a message, and questions still have answers', (_case, text, message) => {
    const { describe: tell, check } = opened({ 'tsconfig.json': text, 'a.ts': 'export const answer = 42;' });
    expect(check()).toContain(message);
    expect(tell('answer')).toContain('const answer: 42');
  });

  it('in a circle with others is a message', () => {
    const { check } = opened({
      'tsconfig.json': '{"extends":"./b.json"}',
      'b.json': '{"extends":"./tsconfig.json"}',
      'a.ts': '',
    });
    expect(check()).toContain('Circularity detected');
  });

  it('takes settings from a package', () => {
    const { check } = opened({
      'tsconfig.json': '{"extends":"base/tsconfig.json","compilerOptions":{"lib":["es2022"],"types":[]}}',
      'node_modules/base/tsconfig.json': '{"compilerOptions":{"strict":true}}',
      'a.ts': 'export const f = (x) => x;',
    });
    expect(check()).toContain("a.ts:1:19: error TS7006: Parameter 'x' implicitly has an 'any' type.");
  });

  it('has no plugin run', () => {
    const { check, folder } = opened({
      'tsconfig.json': '{"compilerOptions":{"plugins":[{"name":"evil"}],"lib":["es2022"],"types":[]}}',
      'node_modules/evil/index.js': "require('fs').writeFileSync(__dirname + '/ran', '')",
      'a.ts': 'export const a = 1;',
    });
    expect(check()).toContain('no errors');
    expect(() => rmSync(join(folder, 'node_modules', 'evil', 'ran'))).toThrow('ENOENT');
  });
});

describe('projects that refer to each other', () => {
  const config = (more: object): string =>
    JSON.stringify({
      compilerOptions: { composite: true, strict: true, lib: ['es2022'], types: [], outDir: 'out' },
      ...more,
    });
  const monorepo = {
    'tsconfig.json': JSON.stringify({ files: [], references: [{ path: './app' }, { path: './gone' }] }),
    'core/tsconfig.json': config({ include: ['*.ts'] }),
    'core/core.ts': 'export function core(): string { return "" }',
    'app/tsconfig.json': config({ include: ['*.ts'], references: [{ path: '../core' }] }),
    'app/app.ts': "import { core } from '../core/core';\nexport const length: number = core().length;\n",
  };

  it('are all known, by their sources: nothing has to be built', () => {
    const { check, look, describe: tell } = opened(monorepo);
    expect(check()).toMatch(
      /app\/tsconfig\.json, core\/tsconfig\.json: 1 message in 1 file\.\ntsconfig\.json:1:44: error TS6053: .*gone/,
    );
    expect(new Set(sourcesOf(look))).toEqual(new Set(['app/app.ts', 'core/core.ts']));
    expect(tell('core')).toContain('core: function, exported, core/core.ts:1:17');
  });

  it('may refer in a circle', () => {
    const { check } = opened({
      ...monorepo,
      'core/tsconfig.json': config({ include: ['*.ts'], references: [{ path: '../app' }] }),
    });
    expect(check()).toContain('app/tsconfig.json, core/tsconfig.json');
  });

  it('may each be named', () => {
    const { check } = opened(monorepo, ['core/tsconfig.json']);
    expect(check()).toMatch(/^TypeScript \S+, core\/tsconfig\.json: no errors\.$/);
  });
});

describe('a change on the disk is seen by the next question', () => {
  it('of a text', () => {
    const { folder, describe: tell } = opened({ 'tsconfig.json': STRICT, 'a.ts': 'export const a = 1;' });
    expect(tell('a')).toContain('const a: 1');
    writeFiles(folder, { 'a.ts': 'export const a = 2;' });
    expect(tell('a')).toContain('const a: 2');
  });

  it('of a file that is new or gone', () => {
    const {
      folder,
      describe: tell,
      look,
    } = opened({ 'tsconfig.json': STRICT, 'a.ts': 'export const a = 1;' });
    expect(() => tell('b')).toThrow('declares "b"');
    writeFiles(folder, { 'b.ts': 'export const b = 1;' });
    expect(tell('b')).toContain('b.ts:1:14');
    rmSync(join(folder, 'b.ts'));
    expect(sourcesOf(look)).toEqual(['a.ts']);
  });

  it('of a file that was imported before it was there', () => {
    const { folder, check } = opened({
      'tsconfig.json': '{"files":["a.ts"],"compilerOptions":{"lib":["es2022"],"types":[]}}',
      'a.ts': "import { b } from './b'; b;",
    });
    expect(check()).toContain("Cannot find module './b'");
    writeFiles(folder, { 'b.ts': 'export const b = 1;' });
    expect(check()).toContain('no errors');
  });

  it('of a package that is installed later', () => {
    const { folder, check } = opened({
      'tsconfig.json': STRICT,
      'a.ts': "import { pack } from 'pack'; pack;",
    });
    expect(check()).toContain("Cannot find module 'pack'");
    mkdirSync(join(folder, 'node_modules'));
    writeFiles(folder, { 'node_modules/pack/index.d.ts': 'export declare const pack: 1;' });
    expect(check()).toContain('no errors');
  });

  it('and nothing else: without one, also with two copies of a package, no program is made anew', () => {
    const copy = (to: string) => ({
      [`node_modules/${to}/node_modules/twin/package.json`]: '{"name":"twin","version":"1.0.0"}',
      [`node_modules/${to}/node_modules/twin/index.d.ts`]: 'export declare const twin: 1;',
      [`node_modules/${to}/index.d.ts`]: "export { twin } from 'twin';",
    });
    const {
      folder,
      look,
      describe: tell,
    } = opened({
      ...{ 'tsconfig.json': STRICT, ...copy('one'), ...copy('two') },
      'a.ts':
        "import { twin } from 'one';\nimport { twin as other } from 'two';\nexport const a = twin + other;",
    });
    const programOf = () => look().projects.map(({ program }) => program);
    const before = programOf();
    expect(before[0]?.getSourceFiles().filter(({ fileName }) => fileName.includes('twin'))).toHaveLength(2);
    expect(programOf()).toEqual([before[0]]);
    expect(programOf()[0]).toBe(before[0]);
    writeFiles(folder, { 'node_modules/two/node_modules/twin/index.d.ts': 'export declare const twin: 2;' });
    expect(tell('a')).toContain('const a: number');
    expect(programOf()[0]).not.toBe(before[0]);
  });

  it('of the config', () => {
    const { folder, check } = opened({
      'tsconfig.json': STRICT,
      'a.ts': 'export const f = (x: number) => x;',
    });
    expect(check()).toContain('no errors');
    writeFiles(folder, { 'tsconfig.json': '{"include":["b.ts"]}' });
    expect(check()).toContain('TS18003');
  });
});
