/** Builds lib/: compiles src/, builds the web inbox's page, then bundles the workflows so that a worker starts without webpack. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildWeb } from './build-web.mjs';
import { withLock } from './lock.mjs';
import { at, say } from './root.mjs';
import { runQuiet } from './run.mjs';
import { hashSources } from './sources.mjs';

const STAGING = '.lib-';
/** Read at run time as it stands. */
const NOT_COMPILED = [
  'tools/lisp/image.lisp',
  'tools/sandbox/forward.cjs',
  'tools/eval/host.cjs',
  'tools/eval/strip.cjs',
];
/** What the SDK's bundler ends with; the worker reads the map from there. */
const SOURCE_MAP = '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
const hashFile = at('lib', '.build-hash');

/** True when lib/ was made from other sources than these. */
export const isBuildStale = () => !existsSync(hashFile) || readFileSync(hashFile, 'utf8') !== hashSources();

/**
 * Builds lib/ from scratch; call it with the lock held. Without `check` types are left to `npm run check`: the output is
 * the same, and a first run is sooner there.
 */
export const build = async ({ check }) => {
  say(`building lib/${check ? '' : ' (a few seconds)'}`);
  // Taken first: what changes while we build makes the build stale, not wrong.
  const hash = hashSources();
  removeLeftovers();
  const staging = at(`${STAGING}${process.pid}`);
  await compile(staging, check);
  for (const file of [join(staging, 'index.js'), ...programsIn(join(staging, 'cli'))])
    loadLate(file, '[^"]+');
  // A package that is missing shows when the client is imported, so what imports it is loaded then.
  for (const name of ['index', 'connect', 'countersign'])
    loadLate(join(staging, 'client', `${name}.js`), '\\.(?!/connect)[^"]+');
  await dropComments(staging);
  keepInnerTypes(staging);
  for (const name of NOT_COMPILED) copyFileSync(at('src', name), join(staging, name));
  await buildWeb(join(staging, 'web'));
  swap(staging);
  await bundle();
  chmodSync(at('bin', 'countersign.js'), 0o755);
  writeFileSync(hashFile, hash);
};

const programsIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name));

const compile = (outDir, check) =>
  runQuiet(process.execPath, [
    at('node_modules', 'typescript', 'bin', 'tsc'),
    ...['-p', 'tsconfig.json', '--outDir', outDir],
    ...(check ? [] : ['--noCheck']),
  ]);

/**
 * Lets a file load each of these modules when one of its exports is first used: a config that only defines tools does not
 * wait for the worker, nor `--help` for what the commands need, nor who imports the client for what it can do. `import` of
 * Node still finds the names of an entry's exports. Where somebody's loader stands between (`--import tsx`), Node 20 cannot
 * load a module later; its `require` has no cache there.
 */
const loadLate = (file, which) => {
  const code = readFileSync(file, 'utf8')
    .replace(
      '"use strict";',
      '"use strict"; const late = (load) => (require.cache ? new Proxy({}, { get: (_, name) => load()[name] }) : load());',
    )
    .replace(new RegExp(`^((?:var|const) \\w+ = )(require\\("${which}"\\));$`, 'gm'), '$1late(() => $2);');
  writeFileSync(file, code);
};

/** A comment is read in src/, or in the types of the entries: in a program it is only weight. The map is led on. */
const dropComments = async (folder) => {
  const { transform } = await import('esbuild');
  const drop = async (file) => {
    const before = readFileSync(`${file}.map`).toString('base64');
    const code = readFileSync(file, 'utf8').replace(
      /\n\/\/# sourceMappingURL=.*\s*$/,
      `${SOURCE_MAP}${before}`,
    );
    const options = { sourcefile: basename(file), sourcemap: 'external', sourcesContent: false };
    const { code: bare, map } = await transform(code, { ...options, legalComments: 'none', charset: 'utf8' });
    writeFileSync(file, `${await withoutMemberComments(bare)}//# sourceMappingURL=${basename(file)}.map\n`);
    writeFileSync(`${file}.map`, map);
  };
  await Promise.all(programsIn(folder).map(drop));
};

/** Keeps the types out of the package that no application can reach: all but those of the entries, and what they import. */
const keepInnerTypes = (folder) => {
  const { exports: entries } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  const reached = new Set();
  const reach = (file) => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()["'](\.[^"']+)["']/g)) {
      const named = join(dirname(file), path.replace(/\.js$/, ''));
      reach([`${named}.d.ts`, join(named, 'index.d.ts')].find((one) => existsSync(one)));
    }
  };
  for (const { types } of Object.values(entries)) if (types) reach(join(folder, relative('lib', types)));
  const inner = readdirSync(folder, { recursive: true }).filter(
    (name) => name.endsWith('.d.ts') && !reached.has(join(folder, name)),
  );
  writeFileSync(join(folder, '.npmignore'), inner.map((name) => `/${name}\n`).join(''));
};

/** lib/ is put in place whole, so that a build that fails leaves the old one. */
const swap = (staging) => {
  const old = `${staging}-old`;
  if (existsSync(at('lib'))) renameSync(at('lib'), old);
  renameSync(staging, at('lib'));
  rmSync(old, { recursive: true, force: true });
};

const removeLeftovers = () => {
  const names = readdirSync(at('.')).filter((name) => name.startsWith(STAGING));
  for (const name of names) rmSync(at(name), { recursive: true, force: true });
};

const bundle = async () => {
  const { DefaultLogger } = await import('@temporalio/worker');
  const { bundleWorkflows } = await import(pathToFileURL(at('lib', 'worker', 'bundle-workflows.js')).href);
  const logger = new DefaultLogger('WARN');
  const { code } = await bundleWorkflows({ logger, webpackConfigHook: withShortIds });
  writeFileSync(at('lib', 'workflow-bundle.js'), await withoutComments(code));
  const { sdkVersion } = await import(pathToFileURL(at('lib', 'worker', 'sdk-copies.js')).href);
  writeFileSync(at('lib', 'workflow-bundle.sdk'), sdkVersion());
};

/** Numbers in place of paths, which were a twentieth of the bundle. What an error prints comes from the source map. */
const withShortIds = (configuration) => ({
  ...configuration,
  optimization: { ...configuration.optimization, moduleIds: 'deterministic' },
});

/**
 * Half of the bundle is comments and indentation, most of it the SDK's. Names, structure and lines with code stay: an
 * error in the sandbox prints the line it is on, and a debugger stops on it. The source map is led on, its paths relative
 * to the bundle.
 */
const withoutComments = async (bundled) => {
  const { transform } = await import('esbuild');
  const options = { legalComments: 'none', minifySyntax: true, sourcemap: 'external', charset: 'utf8' };
  const { code, map } = await transform(bundled, options);
  const bare = await withoutMemberComments(code.trimEnd());
  const [flush, shifted] = await withoutIndentation(bare, JSON.parse(map));
  const lean = withRelativeSources({ ...(await withoutForeignColumns(shifted)), sourcesContent: undefined });
  return `${flush}${SOURCE_MAP}${Buffer.from(lean).toString('base64')}`;
};

/** esbuild keeps the comments on members of classes and objects. Their lines stay, empty, so that the map still fits. */
const withoutMemberComments = async (code) => {
  const { parse } = await import('acorn');
  const kept = [];
  let from = 0;
  const onComment = (_isBlock, text, start, end) => {
    // It tells a bundler what to leave alone.
    if (text.includes('webpackIgnore')) return;
    // With code behind it on its line, the columns of that code would no longer be those of the map.
    if (/^[^\S\n]*\S/.test(code.slice(end, end + 200))) return;
    kept.push(
      code.slice(from, start).replace(/[^\S\n]+$/, ''),
      code.slice(start, end).replace(/[^\n]+/g, ''),
    );
    from = end;
  };
  parse(code, { ecmaVersion: 'latest', onComment });
  return [...kept, code.slice(from)].join('');
};

/** Takes the indentation and empty lines away, but not where they are part of a text. */
const withoutIndentation = async (given, map) => {
  const { parse } = await import('acorn');
  const { decode, encode } = await import('@jridgewell/sourcemap-codec');
  const inText = new Set();
  const onToken = ({ loc: { start, end } }) => {
    for (let line = start.line; line < end.line; line++) inText.add(line);
  };
  parse(given, { ecmaVersion: 'latest', locations: true, onToken });
  const lines = given.split('\n');
  const flush = lines.map((line, index) => (inText.has(index) ? line : line.trimStart()));
  const mappings = decode(map.mappings).map((segments, index) => {
    const gone = (lines[index]?.length ?? 0) - (flush[index]?.length ?? 0);
    return segments.map(([column, ...rest]) => [Math.max(0, column - gone), ...rest]);
  });
  // An empty line leaves with its line of the map. Lines may follow in the map that the code no longer has.
  const isKept = (index) => flush[index] !== '' || inText.has(index) || inText.has(index - 1);
  const code = flush.filter((_, index) => isKept(index)).join('\n');
  return [code, { ...map, mappings: encode(mappings.filter((_, index) => isKept(index))) }];
};

const isForeign = (source) => /node_modules|webpack/.test(source);

/** Of a library the lines are enough, which stacks show. */
const withoutForeignColumns = async (map) => {
  const { decode, encode } = await import('@jridgewell/sourcemap-codec');
  const isKept = ([, source], index) => index === 0 || !isForeign(map.sources[source]);
  return { ...map, mappings: encode(decode(map.mappings).map((segments) => segments.filter(isKept))) };
};

const withRelativeSources = (map) => {
  const sources = map.sources.map((source) => (isAbsolute(source) ? relative(at('lib'), source) : source));
  // A worker that is given the code and no path takes the name from here.
  return JSON.stringify({ ...map, file: 'workflow-bundle.js', sources });
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  withLock(() => build({ check: true })).catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
