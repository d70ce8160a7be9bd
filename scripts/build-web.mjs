/** Builds the web inbox's page: one script, one style sheet and the document that loads them. Nothing of it is inline. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { at, say } from './root.mjs';

/** The first that know `light-dark()`; all of 2024 or before. */
const TARGET = ['chrome123', 'firefox120', 'safari17.5'];

/** Writes `index.html`, `app.js` and `app.css` into a folder. */
export const buildWeb = async (outDir) => {
  const { build } = await import('esbuild');
  mkdirSync(outDir, { recursive: true });
  await build({
    entryPoints: [
      { in: at('src', 'web', 'main.tsx'), out: 'app' },
      { in: at('src', 'web', 'style', 'app.css'), out: 'app' },
    ],
    outdir: outDir,
    tsconfig: at('src', 'web', 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: TARGET,
    legalComments: 'none',
    logLevel: 'error',
  });
  copyFileSync(at('src', 'web', 'index.html'), join(outDir, 'index.html'));
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  buildWeb(at('lib', 'web')).catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
