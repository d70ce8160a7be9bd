/** `node examples/own-page/serve.mjs [port]`: builds the page and serves it. */
import { context } from 'esbuild';

const folder = import.meta.dirname;
const built = await context({
  entryPoints: [`${folder}/page.jsx`],
  outfile: `${folder}/page.js`,
  ...{ bundle: true, format: 'esm', jsx: 'automatic', write: false },
  define: { 'process.env.NODE_ENV': '"production"' },
});
const { port } = await built.serve({
  ...{ servedir: folder, host: '127.0.0.1' },
  port: Number(process.argv[2] ?? 8080),
});
process.stdout.write(`http://127.0.0.1:${port}\n`);
