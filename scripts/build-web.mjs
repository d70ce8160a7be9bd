/** Builds the web inbox's page: a script and the parts of it that are loaded late, a style sheet, and what goes as it is. Nothing of it is inline. */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { at, say } from './root.mjs';

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

/** What screens that are loaded late have for themselves; all else that they import is in the script that is there already, by `first-script.ts`. */
const OWN =
  /^canonicalize$|(bulk|composer|conversation)-\w+$|\.\/(call-card|chips|running|steps)$|model\/(alike|conversation|decided|fork-draft|markdown|stats|timeline)$|ui\/markdown$|(history\/|\.\/)(batch|compare|describe|model-label|moment|stats-text|transcript)$|contract\/(question|transcript|turn-states)$|history\/session\/(view|kept-turns)$|(contract\/|\.\/)(limits|text\/bytes)$/;

/** A second copy of a module would have a state of its own. */
const shared = (found) => ({
  name: 'shared',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, (asked) => {
      const part = lateFile(found, asked);
      if (part !== undefined || asked.kind === 'entry-point' || OWN.test(asked.path)) return part;
      return { path: './app.js', external: true };
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

/** The names between the braces of every import from the first script, or of its export. */
const namesIn = (text, braces) =>
  [...text.matchAll(braces)]
    .flatMap(([, names]) => names.split(','))
    .map((name) => name.trim().split(/ as /));

/** Fails if a part that is loaded late uses what `first-script.ts` does not export: it would not load. */
const assertThere = (first, part) => {
  const [script, text] = [first, part].map((file) => readFileSync(file, 'utf8'));
  const there = new Set(namesIn(script, /export\s*\{([^}]*)\}/g).map((names) => names.at(-1)));
  const asked = namesIn(text, /import\s*\{([^}]*)\}\s*from\s*"\.\/app\.js"/g).map(([name]) => name);
  const missing = asked.filter((name) => !there.has(name));
  if (missing.length > 0)
    throw new Error(`src/web/first-script.ts has to export ${missing.join(', ')} for ${basename(part)}`);
};

const AS_IT_IS = ['index.html', 'manifest.webmanifest', 'icon.svg', 'icon.png'];

/** Writes the files of the page into a folder. */
export const buildWeb = async (outDir) => {
  const { build } = await import('esbuild');
  mkdirSync(outDir, { recursive: true });
  const options = {
    outdir: outDir,
    tsconfig: at('src', 'web', 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: TARGET,
    // No browser has it, so what needs it is left out.
    define: { Buffer: 'undefined' },
    legalComments: 'none',
    logLevel: 'error',
  };
  const entryPoints = [
    { in: at('src', 'web', 'main.tsx'), out: 'app' },
    { in: at('src', 'web', 'model', 'syntax.ts'), out: 'syntax' },
    { in: at('src', 'web', 'style', 'app.css'), out: 'app' },
  ];
  const found = new Set();
  await build({ ...options, entryPoints, plugins: [dropShapes, late(found)] });
  // A screen may load another one late, which then is among them.
  for (const path of found) {
    if (!path.startsWith(at('src', 'web', 'screens'))) continue;
    const screen = { in: `${path}.tsx`, out: basename(path) };
    await build({ ...options, entryPoints: [screen], plugins: [dropShapes, shared(found)] });
    assertThere(join(outDir, 'app.js'), join(outDir, `${screen.out}.js`));
  }
  // A service worker is a script and no module, which not every browser takes.
  await build({ ...options, format: 'iife', entryPoints: [at('src', 'web', 'push-worker.ts')] });
  for (const name of AS_IT_IS) copyFileSync(at('src', 'web', name), join(outDir, name));
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  buildWeb(at('lib', 'web')).catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
