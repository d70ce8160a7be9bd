/** Builds the web inbox's page: a script and the parts of it that are loaded late, a style sheet, and what goes as it is. Nothing of it is inline. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { at, say } from './root.mjs';

const WEB = at('src', 'web');

/** The first that know `light-dark()`; all of 2024 or before. */
const TARGET = ['chrome123', 'firefox120', 'safari17.5'];

/** A module that is imported late is a file of its own, by its name, beside the script; `found` gets where it is. */
const lateFile = (found, { kind, path, resolveDir }) => {
  if (kind !== 'dynamic-import') return undefined;
  found.add(join(resolveDir, path));
  return { path: `./${basename(path)}.js`, external: true };
};

const late = (found) => ({
  name: 'late',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, (asked) => lateFile(found, asked));
  },
});

/** Stands for a module that a late part takes from the script: a second copy would have a state of its own. */
const FIRST = './app.js?';

/** `inFirst`: the files that the script has, by their paths. */
const shared = (found, inFirst) => ({
  name: 'shared',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /./ }, async (asked) => {
      const { kind, path, resolveDir, pluginData } = asked;
      const part = lateFile(found, asked);
      if (part !== undefined || kind === 'entry-point' || pluginData === FIRST) return part;
      const file = (await resolve(path, { kind, resolveDir, pluginData: FIRST })).path;
      // The script exports by name, and other packages export one thing without a name.
      const isNamed = path.startsWith('.') || path.startsWith('preact');
      if (!inFirst.has(file) || !isNamed) return undefined;
      const module = path.startsWith('.') ? `./${relative(WEB, file).replaceAll(sep, '/')}` : path;
      return { path: FIRST + module, external: true, sideEffects: false };
    });
  },
});

/** Marks the calls that make shapes as pure, so that the page drops the shapes that it does not use. */
const dropShapes = {
  name: 'drop-shapes',
  setup({ onLoad }) {
    onLoad({ filter: /contract[/\\].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const [, names] = /import \{([^}]*)\} from '[^']*schema\/shape';/.exec(text) ?? [];
      if (names === undefined) return undefined;
      const made = names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => /^\w+$/.test(name));
      const calls = new RegExp(`(?<![.\\w])(${made.join('|')})\\(`, 'g');
      return { contents: text.replace(calls, '/* @__PURE__ */ $&'), loader: 'ts' };
    });
  },
};

const IMPORT = /import\s*\{([^}]*)\}\s*from\s*"\.\/app\.js\?([^"]+)"/g;
const UNNAMED = /import\s*[\w$*][^"]*from\s*"\.\/app\.js\?([^"]+)"/;

/** The lines by which the script exports what these late parts take from it. */
const exportsFor = (parts) => {
  const [, unnamed] = UNNAMED.exec(parts.join('\n')) ?? [];
  if (unnamed !== undefined) throw new Error(`late parts can take from ${unnamed} only what has a name`);
  const taken = new Map();
  for (const [, names, module] of parts.flatMap((text) => [...text.matchAll(IMPORT)]))
    for (const name of names.split(',').map((one) => one.trim().split(/ as /)[0])) {
      if ((taken.get(name) ?? module) !== module) throw new Error(`two modules export ${name}: ${module}`);
      taken.set(name, module);
    }
  return [...taken].map(([name, module]) => `export { ${name} } from '${module}';\n`).join('');
};

const exporting = (lines) => ({
  name: 'exporting',
  setup({ onLoad }) {
    onLoad({ filter: /web[/\\]main\.tsx$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8') + lines,
      loader: 'tsx',
    }));
  },
});

const AS_IT_IS = ['index.html', 'manifest.webmanifest', 'icon.svg', 'icon.png'];

/** Writes the files of the page into a folder. */
export const buildWeb = async (outDir) => {
  const { build } = await import('esbuild');
  mkdirSync(outDir, { recursive: true });
  const options = {
    outdir: outDir,
    tsconfig: join(WEB, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: TARGET,
    // No browser has it, so what needs it is left out.
    define: { Buffer: 'undefined' },
    legalComments: 'none',
    logLevel: 'error',
  };
  const found = new Set();
  const entryPoints = [
    { in: join(WEB, 'main.tsx'), out: 'app' },
    { in: join(WEB, 'model', 'syntax.ts'), out: 'syntax' },
    { in: join(WEB, 'style', 'app.css'), out: 'app' },
  ];
  const first = { ...options, entryPoints };
  const { metafile } = await build({
    ...first,
    write: false,
    metafile: true,
    plugins: [dropShapes, late(found)],
  });
  const script = Object.entries(metafile.outputs).find(([file]) => basename(file) === 'app.js');
  const inFirst = new Set(
    Object.entries(script[1].inputs).flatMap(([file, { bytesInOutput }]) =>
      bytesInOutput > 0 ? join(process.cwd(), file) : [],
    ),
  );
  const parts = [];
  // A screen may load another one late, which then is among them.
  for (const path of found) {
    if (!path.startsWith(join(WEB, 'screens'))) continue;
    const entry = { in: `${path}.tsx`, out: basename(path) };
    const plugins = [dropShapes, shared(found, inFirst)];
    const { outputFiles } = await build({ ...options, write: false, entryPoints: [entry], plugins });
    parts.push(outputFiles[0].text);
    writeFileSync(outputFiles[0].path, outputFiles[0].text.replace(/"\.\/app\.js\?[^"]+"/g, '"./app.js"'));
  }
  await build({ ...first, plugins: [dropShapes, late(found), exporting(exportsFor(parts))] });
  // A service worker is a script and no module, which not every browser takes.
  await build({ ...options, format: 'iife', entryPoints: [join(WEB, 'push-worker.ts')] });
  for (const name of AS_IT_IS) copyFileSync(join(WEB, name), join(outDir, name));
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  buildWeb(at('lib', 'web')).catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
