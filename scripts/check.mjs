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
  {
    name: 'page',
    file: tool('typescript', 'bin', 'tsc'),
    args: ['--noEmit', '-p', 'src/web/tsconfig.json'],
  },
  { name: 'mass', file: at('scripts', 'mass.mjs'), args: ['--check'] },
  { name: 'house', file: at('scripts', 'bootstrap.mjs'), args: ['test:house'] },
];

/** Two at a time, each on a core of its own; the longest is first. */
const AT_ONCE = 2;

/** Runs every check, or those that are named; all of them even if one fails, and counts them. Resolves with the exit code. */
export const check = async (names) => {
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0)
    throw new Error(
      `unknown check ${unknown.join(', ')}; there are ${steps.map(({ name }) => name).join(', ')}`,
    );
  const left = steps.filter((step) => names.length === 0 || names.includes(step.name));
  const ended = [];
  const work = async () => {
    for (let step = left.shift(); step !== undefined; step = left.shift()) ended.push(await run(step));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const failed = ended.filter(({ counts }) => counts.failed > 0).map(({ name }) => name);
  say(failed.length === 0 ? 'all checks passed' : `failed: ${failed.join(', ')}`);
  const sum = (key) => ended.reduce((total, { counts }) => total + counts[key], 0);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
  return failed.length === 0 ? 0 : 1;
};

/** A check is one test, unless it counts its own. */
const countsOf = (code, output) => {
  const [, passed, failed] = /(?:^|\n)(\d+) passed, (\d+) failed\b.*\s*$/.exec(output) ?? [];
  if (code === 0) return { passed: Number(passed ?? 1), failed: 0 };
  return { passed: Number(passed ?? 0), failed: Number(failed ?? 0) || 1 };
};

/** What one says is shown when it ends, so that two do not mix their lines. */
const run = async ({ name, file, args }) => {
  say(`check ${name}`);
  const { code, output } = await runKept(process.execPath, [file, ...args]);
  process.stdout.write(output);
  if (code !== 0) say(`check ${name} failed`);
  return { name, counts: countsOf(code, output) };
};
