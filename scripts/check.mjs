import { at, say } from './root.mjs';
import { runKept } from './run.mjs';

const tool = (...path) => at('node_modules', ...path);

const steps = [
  { name: 'lint', file: tool('eslint', 'bin', 'eslint.js'), args: ['--max-warnings', '0', '.'] },
  {
    name: 'format',
    file: tool('prettier', 'bin', 'prettier.cjs'),
    args: ['--check', '--log-level', 'warn', '.'],
  },
  { name: 'types', file: tool('typescript', 'bin', 'tsc'), args: ['--noEmit', '-p', 'tsconfig.test.json'] },
  {
    name: 'page',
    file: tool('typescript', 'bin', 'tsc'),
    args: ['--noEmit', '-p', 'src/web/tsconfig.json'],
  },
  { name: 'mass', file: at('scripts', 'mass.mjs'), args: ['--check'] },
  { name: 'boundaries', file: tool('jest', 'bin', 'jest.js'), args: ['test/boundaries.house.test.ts'] },
];

/** Two at a time, each on a core of its own; the longest is first. */
const AT_ONCE = 2;

/** Runs every check, or those that are named; all of them even if one fails. Resolves with the exit code. */
export const check = async (names) => {
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0)
    throw new Error(
      `unknown check ${unknown.join(', ')}; there are ${steps.map(({ name }) => name).join(', ')}`,
    );
  const left = steps.filter((step) => names.length === 0 || names.includes(step.name));
  const failed = [];
  const work = async () => {
    for (let step = left.shift(); step !== undefined; step = left.shift())
      if (!(await passes(step))) failed.push(step.name);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  say(failed.length === 0 ? 'all checks passed' : `failed: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
};

/** What one says is shown when it ends, so that two do not mix their lines. */
const passes = async ({ name, file, args }) => {
  say(`check ${name}`);
  const { code, output } = await runKept(process.execPath, [file, ...args]);
  process.stdout.write(output);
  if (code !== 0) say(`check ${name} failed`);
  return code === 0;
};
