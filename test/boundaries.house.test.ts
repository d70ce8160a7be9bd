import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { decode, type SourceMapMappings } from '@jridgewell/sourcemap-codec';
import { z } from 'zod';
import { BUNDLE_KB } from '../bench/figures/start';
import { ensureBuilt, lib, root } from './support/build';

const PURE = ['@noble/hashes', 'canonicalize'];

/** What a module keeps from one use to the next, at its top level. The SDK freezes plain values that a workflow exports. */
const STATE =
  /^let |^var (?!__|\w+ = require)|^const \w+ = (\[\]|\{\});|^(const \w+|exports\.\w+) = new (\w+\(\);|(Weak)?(Map|Set)\()/m;

/** Files that a fresh Node process has loaded after requiring some entries, relative to the checkout. */
const loadedBy = (...entries: string[]): string[] => {
  const loads = entries.map((entry) => `require(${JSON.stringify(entry)});`).join('');
  const script = `${loads} console.log(JSON.stringify(Object.keys(require.cache)))`;
  const files: string[] = JSON.parse(
    execFileSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8' }),
  );
  return files.map((file) => relative(root, file));
};

const packageOf = (file: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(file)?.[1] ?? '';
const folderOf = (file: string): string => /^lib\/([^/]+)\//.exec(file)?.[1] ?? file;

/** The part of authority that a file of it is: what a worker or a client has, what reads files and keys, or what is pure. */
const partOf = (file: string): 'worker' | 'client' | 'files' | 'pure' => {
  const [, folder, name = ''] = /^lib\/authority\/(\w+)\/([\w-]+)/.exec(file) ?? [];
  if (name.startsWith('worker-')) return 'worker';
  if (/^client(-|$)/.test(name)) return 'client';
  if (['permits', 'stricter-rule', 'passkey-ask'].includes(name)) return 'pure';
  return folder === 'rules' || folder === 'signatures' ? 'files' : 'pure';
};

/** What the rooms may require: of system, whose files are small, each file; of authority, each part. */
const roomOf = (file: string): string => {
  if (file.startsWith('lib/system/')) return file;
  return file.startsWith('lib/authority/') ? `authority: ${partOf(file)}` : folderOf(file);
};

const filesOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(directory, name));

const requiresOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/\brequire\("([^"]+)"\)/g)].flatMap(([, name]) => name ?? []);

/** Packages that a file requires, itself or by files of ours. */
const packagesOf = (file: string, seen = new Set<string>()): string[] =>
  requiresOf(file).flatMap((name) => {
    if (!name.startsWith('.')) return name;
    const path = createRequire(file).resolve(name);
    if (seen.has(path)) return [];
    seen.add(path);
    return packagesOf(path, seen);
  });

/** A file and all files of ours that it requires, at once or late. */
const reachedFrom = (file: string, seen = new Set<string>()): string[] => {
  if (seen.has(file)) return [];
  seen.add(file);
  const ours = requiresOf(file).filter((name) => name.startsWith('.'));
  return [file, ...ours.flatMap((name) => reachedFrom(createRequire(file).resolve(name), seen))];
};

/** The bundle's code, without the source map in its last line. */
const bundleCode = (): string =>
  readFileSync(lib('workflow-bundle.js'), 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');

/** The modules of the bundle: the source of each, relative to the checkout, by the number that webpack gave it. */
const bundleModules = (): Map<string, string> => {
  const map = SourceMap.parse(JSON.parse(bundleMap()));
  const lines = decode(map.mappings);
  const modules = new Map<string, string>();
  for (const [line, text] of bundleCode().split('\n').entries()) {
    const [, id] = /^(\d+)\((?:__unused_webpack_)?module\b.*\) \{$/.exec(text) ?? [];
    if (id !== undefined) modules.set(id, sourceFrom(line, lines, map.sources));
  }
  return modules;
};

const SourceMap = z.object({ mappings: z.string(), sources: z.array(z.string()) });

const bundleMap = (): string => {
  const [, base64 = ''] = /;base64,(.*)$/.exec(readFileSync(lib('workflow-bundle.js'), 'utf8')) ?? [];
  return Buffer.from(base64, 'base64').toString();
};

/** The source of the first code after a line. */
const sourceFrom = (line: number, lines: SourceMapMappings, sources: readonly string[]): string => {
  for (const segments of lines.slice(line))
    for (const [, source] of segments)
      if (source !== undefined) return relative(root, lib(sources[source] ?? ''));
  return '';
};

/** The compiled file of one of our sources. */
const compiled = (source: string): string => join(root, source.replace(/^src/, 'lib').replace(/ts$/, 'js'));

beforeAll(ensureBuilt);

it.each([
  ["let last = '';", true],
  ['const seen = new Map();', true],
  ["exports.seen = new Set(['a']);", true],
  ['const seen = new WeakMap([\n', true],
  ['const seen = [];', true],
  ['const clock = new Clock();', true],
  ['    const seen = new Map();', false],
  ["const CODE = new RegExp('a');", false],
  ["const NAMES = ['a'];", false],
])('what a module keeps is found: %j, %s', (line, expected) => {
  expect(STATE.test(`"use strict";\n${line}\n`)).toBe(expected);
});

describe('the client', () => {
  let files: string[];
  beforeAll(() => {
    files = loadedBy(...reachedFrom(lib('client', 'index.js')));
  });

  it('loads no native module', () => {
    expect(files.filter((file) => file.endsWith('.node'))).toEqual([]);
  });

  it.each([
    '@temporalio/core-bridge',
    '@temporalio/worker',
    '@temporalio/testing',
    '@bufbuild/cel',
    'yaml',
    'zod',
  ])('does not load %s', (name) => {
    expect(files.filter((file) => packageOf(file) === name)).toEqual([]);
  });

  it.each(['activities', 'engine', 'tools', 'models', 'authority: worker', 'authority: files'])(
    'does not load our %s',
    (room) => {
      expect(files.filter((file) => roomOf(file) === room)).toEqual([]);
    },
  );
});

describe('the web inbox', () => {
  it('loads no native module and nothing of a worker', () => {
    const files = loadedBy(lib('server', 'index.js'));
    const strangers = ['activities', 'engine', 'tools', 'models', 'workflows'];
    expect(files.filter((file) => file.endsWith('.node'))).toEqual([]);
    expect(files.filter((file) => strangers.includes(folderOf(file)))).toEqual([]);
  });
});

describe('the command line', () => {
  it.each(['jose', 'jiti', 'yaml', '@bufbuild/cel', '@temporalio/client', '@temporalio/worker'])(
    'does not wait for %s before it knows the command',
    (name) => {
      const files = loadedBy(lib('cli', 'program.js'));
      expect(files.filter((file) => packageOf(file) === name)).toEqual([]);
    },
  );
});

describe('a config', () => {
  it.each(['@temporalio/client', '@temporalio/proto', '@temporalio/worker', 'rxjs'])(
    'that starts no worker does not wait for %s',
    (name) => {
      const files = loadedBy(join(root, 'test', 'fixtures', 'plain-config.cjs'));
      expect(files.filter((file) => packageOf(file) === name)).toEqual([]);
    },
  );
});

describe.each([
  ['contract', (): string[] => filesOf(lib('contract'))],
  ['the life of a call', (): string[] => filesOf(lib('lifecycle'))],
  [
    'what is pure of authority',
    (): string[] => filesOf(lib('authority')).filter((file) => partOf(relative(root, file)) === 'pure'),
  ],
])('%s', (name, filesIn) => {
  const isOurs = (file: string): boolean =>
    folderOf(file) === 'contract' ||
    (name !== 'contract' && roomOf(file) === 'authority: pure') ||
    (name === 'the life of a call' && folderOf(file) === 'lifecycle');

  it('loads nothing but itself, contract and pure libraries', () => {
    const files = loadedBy(...filesIn());
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => !isOurs(file) && !PURE.includes(packageOf(file)))).toEqual([]);
  });

  it('requires no builtin and no other package', () => {
    const required = filesIn().flatMap(requiresOf);
    const strangers = required.filter(
      (one) => !/^\.\.?\//.test(one) && !PURE.some((pure) => one === pure || one.startsWith(`${pure}/`)),
    );
    expect(strangers).toEqual([]);
  });

  it('keeps nothing from one use to the next: all workflows of a worker share some of it', () => {
    expect(filesIn().filter((file) => STATE.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});

describe('the rooms of lib', () => {
  const [
    FILES,
    GUARDED,
    LOCK,
    PROBE,
    SETTINGS,
    TRACES,
    RACE,
    LOOPBACK,
    PROXIES,
    NAMED,
    STOP,
    VERSION,
    MISSING,
    YAML,
  ] = [
    ...[
      'files',
      'guarded',
      'lock',
      'server-probe',
      'temporal-settings',
      'traces',
      'race',
      'loopback',
      'proxies',
    ],
    ...['named-files', 'until-stopped', 'installed-version', 'missing-package', 'yaml'],
  ].map((name) => `lib/system/${name}`);
  const [RULES, KEYS, OF_CLIENTS, OF_WORKERS] = ['pure', 'files', 'client', 'worker'].map(
    (part) => `authority: ${part}`,
  );
  /** Every room outside of the sandbox may use it. */
  const HASH = 'lib/system/sha256';
  const BODIES = 'lib/system/read-at-most';
  const reached = (files: readonly string[]): Set<string> =>
    new Set(
      files
        .flatMap((file) =>
          requiresOf(file)
            .filter((name) => name.startsWith('.'))
            .map((name) => createRequire(file).resolve(name)),
        )
        .map((path) => roomOf(relative(root, path)).replace(/\.js$/, '')),
    );

  it.each([
    ['system', ['contract', FILES]],
    ['lifecycle', ['contract', RULES]],
    ['workflows', ['contract', 'lifecycle', RULES]],
    ['history', ['contract', 'lifecycle', RULES]],
    ['engine', ['contract', FILES, LOCK, PROBE, SETTINGS, LOOPBACK, PROXIES]],
    ['tools', ['contract', RULES, FILES, GUARDED, LOCK, TRACES, RACE, LOOPBACK, PROXIES, MISSING, BODIES]],
    ['models', ['contract', 'tools', PROXIES, VERSION]],
    [
      'activities',
      ['contract', 'tools', 'models', 'history', 'store', RULES, OF_WORKERS, FILES, GUARDED, TRACES],
    ],
    [
      'client',
      [
        ...['contract', 'history', 'encryption', 'store', RULES, OF_CLIENTS],
        ...[PROBE, SETTINGS, TRACES, RACE, LOOPBACK, PROXIES],
      ],
    ],
    ['encryption', ['contract', FILES]],
    ['store', ['contract', FILES, PROXIES, BODIES]],
    [
      'server',
      [
        ...['client', 'contract', 'history', RULES, OF_CLIENTS],
        ...[FILES, GUARDED, LOCK, PROBE, RACE, LOOPBACK, PROXIES],
      ],
    ],
    [
      'notify',
      [
        ...['client', 'contract', 'history', 'server', 'tools', 'cli', RULES, KEYS],
        ...[FILES, NAMED, STOP, VERSION, MISSING, YAML, LOOPBACK, PROXIES],
      ],
    ],
    ['audit', ['contract', 'history', 'encryption', RULES, KEYS, FILES, NAMED]],
    [
      'worker',
      [
        ...['activities', 'client', 'contract', 'encryption', 'history', 'models', 'server', 'store'],
        'tools',
        ...[OF_CLIENTS, OF_WORKERS, TRACES],
      ],
    ],
  ])('%s requires only %j', (folder, allowed) => {
    const found = [...reached(filesOf(lib(folder)))].filter((name) => ![folder, HASH].includes(name));
    expect(found.filter((name) => !allowed.includes(name))).toEqual([]);
  });

  it.each([
    ['pure', ['contract']],
    ['files', ['contract', RULES, FILES, NAMED, YAML]],
    ['client', ['contract', RULES, 'client', 'history']],
    ['worker', ['contract', RULES, OF_CLIENTS, 'history', 'tools']],
  ])('of authority, what is %s requires only %j', (part, allowed) => {
    const files = filesOf(lib('authority')).filter((file) => partOf(relative(root, file)) === part);
    const found = [...reached(files)].filter((name) => ![`authority: ${part}`, HASH].includes(name));
    expect(found.filter((name) => !allowed.includes(name))).toEqual([]);
  });
});

it('lets only worker.ts know both workflows and activities', () => {
  const knows = (file: string, folder: string): boolean =>
    requiresOf(file).some((name) => new RegExp(`^(\\.\\./|\\./)+${folder}(/|$)`).test(name));
  const both = filesOf(lib()).filter((file) => knows(file, 'workflows') && knows(file, 'activities'));
  expect(both.map((file) => relative(lib(), file)).filter((file) => file !== 'worker.js')).toEqual([]);
});

describe('the workflow bundle', () => {
  let modules: Map<string, string>;
  beforeAll(() => {
    modules = bundleModules();
  });

  it('is within its limit without the source map', () => {
    expect(Buffer.byteLength(bundleCode())).toBeLessThanOrEqual(BUNDLE_KB * 1000);
  });

  it('loads what is pure once a worker, and nothing of the SDK', () => {
    const shared = /exports\.preloadModules = [^}]*}/.exec(bundleCode())?.[0] ?? '';
    const names = [...shared.matchAll(/^\s*(\d+)$/gm)].map(
      ([, id = '']) => modules.get(id) ?? `module ${id}`,
    );
    const pure = [
      'src/contract/digest.ts',
      'src/authority/grants/grant-schemas.ts',
      'src/workflows/turn-state.ts',
    ];
    expect(names).toEqual(expect.arrayContaining(pure));
    const found = names.flatMap((name) => packagesOf(compiled(name)));
    expect(found.filter((name) => name.startsWith('@temporalio'))).toEqual([]);
  });

  it('keeps nothing of a workflow in its modules, which all workflows share', () => {
    const ours = [...modules.values()].filter((name) =>
      /^src\/(workflows|contract|lifecycle|authority)\//.test(name),
    );
    expect(ours.length).toBeGreaterThan(30);
    expect(ours.filter((name) => STATE.test(readFileSync(compiled(name), 'utf8')))).toEqual([]);
  });

  it('holds our workflows', () => {
    expect([...modules.values()]).toContain('src/workflows/agent-turn.ts');
  });

  it.each([
    'src/activities/',
    'src/tools/',
    'src/models/',
    'src/engine/',
    'src/client/',
    '/@bufbuild/',
    '/yaml/',
    '/zod/',
    '@temporalio/worker/',
    '@temporalio/client/',
  ])('holds nothing of %s', (part) => {
    expect([...modules.values()].filter((name) => name.includes(part))).toEqual([]);
  });

  it('holds only what is pure of authority', () => {
    const files = [...modules.values()].filter((name) => name.startsWith('src/authority/'));
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((name) => partOf(relative(root, compiled(name))) !== 'pure')).toEqual([]);
  });

  it('holds no Node builtin', () => {
    // The SDK brings its own `assert` into the sandbox; it is no way out of it.
    const builtins = builtinModules
      .filter((name) => name !== 'assert')
      .flatMap((name) => [name, `node:${name}`]);
    const required = [...bundleCode().matchAll(/[^_]require\("([^"]+)"\)/g)].flatMap(
      ([, name]) => name ?? [],
    );
    expect([...modules.values(), ...required].filter((name) => builtins.includes(name))).toEqual([]);
  });
});

describe('the package', () => {
  const manifest: {
    bin: Record<string, string>;
    exports: Record<string, string | { default: string; types: string }>;
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

  it.each(Object.entries(manifest.exports))('has what the entry %s points to', (_name, target) => {
    const files = typeof target === 'string' ? [target] : [target.default, target.types];
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it.each(Object.entries(manifest.bin))('has the command %s', (_name, file) => {
    expect(existsSync(join(root, file))).toBe(true);
  });
});

it('scripts, benches and tests name only files of lib that the build makes', () => {
  const files = ['scripts', 'bench', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(mjs|cjs|ts)$/.test(name))
      .map((name) => join(folder, name)),
  );
  const named = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:at\('lib', |lib\(|lib \+ )('[^()]+')\)/g)].map(
      ([, parts = '']) => ({ file, path: join(...parts.split(/, ?/).map((part) => part.slice(1, -1))) }),
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  const missing = named.filter(({ path }) => !existsSync(lib(path)) && !existsSync(`${lib(path)}.js`));
  expect(missing).toEqual([]);
});
