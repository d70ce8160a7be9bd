// Writes one file over and over, each time with other content, until it is killed.
// argv: root, name of the file, size in characters. Its content is one letter, many times.
const { createJiti } = require('jiti');
const load = createJiti(__filename);

async function main([root, name, size]) {
  const { createRoot } = load('../../../src/tools/workspace/root.ts');
  const { executePlan, planFile } = load('../../../src/tools/workspace/plan.ts');
  const files = createRoot(root);
  for (let turn = 0; ; turn++) {
    const content = String.fromCharCode(97 + (turn % 26)).repeat(Number(size));
    await executePlan(files, await planFile(files, name, () => content)).catch(() => undefined);
    if (turn === 1) process.stdout.write('ready\n');
  }
}

void main(process.argv.slice(2));
