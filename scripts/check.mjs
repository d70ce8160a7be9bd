import { at, say } from './root.mjs';
import { runShown } from './run.mjs';

const tool = (...path) => at('node_modules', ...path);

const steps = [
  {
    name: 'format',
    file: tool('prettier', 'bin', 'prettier.cjs'),
    args: ['--check', '--log-level', 'warn', '.'],
  },
  { name: 'lint', file: tool('eslint', 'bin', 'eslint.js'), args: ['--max-warnings', '0', '.'] },
  { name: 'types', file: tool('typescript', 'bin', 'tsc'), args: ['--noEmit', '-p', 'tsconfig.test.json'] },
  {
    name: 'page',
    file: tool('typescript', 'bin', 'tsc'),
    args: ['--noEmit', '-p', 'src/web/tsconfig.json'],
  },
  { name: 'boundaries', file: tool('jest', 'bin', 'jest.js'), args: ['test/boundaries.test.ts'] },
];

/** Runs every check, or those that are named; all of them even if one fails. Resolves with the exit code. */
export const check = async (names) => {
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0)
    throw new Error(
      `unknown check ${unknown.join(', ')}; there are ${steps.map(({ name }) => name).join(', ')}`,
    );
  const failed = [];
  for (const { name, file, args } of steps.filter(
    (step) => names.length === 0 || names.includes(step.name),
  )) {
    say(`check ${name}`);
    if ((await runShown(process.execPath, [file, ...args])) !== 0) failed.push(name);
  }
  say(failed.length === 0 ? 'all checks passed' : `failed: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
};
