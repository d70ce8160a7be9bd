import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../support/build';

/** Evaluates an expression over `tests`, the module that chooses and judges them. */
const evaluate = (expression: string): unknown => {
  const module = JSON.stringify(join(root, 'scripts', 'tests.mjs'));
  const script = `import(${module}).then((tests) => console.log(JSON.stringify(${expression})))`;
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', cwd: root }));
};

describe('which tests run together', () => {
  it.each([
    ['test/contract/json.test.ts', 'unit'],
    ['test/e2e/turn.core.test.ts', 'on a server'],
    ['test/web/looks.deep.test.ts', 'on a server'],
    ['test/e2e/crash-points.core.test.ts', 'workers that end'],
    ['test/e2e/kill.deep.test.ts', 'workers that end'],
    ['test/e2e/grants.deep.test.ts', 'on a server'],
    ['test/e2e/grants-kill.core.test.ts', 'workers that end'],
    ['test/readme.house.test.ts', 'house'],
  ])('%s runs in the stage “%s”', (file, title) => {
    const stages = evaluate(`tests.stagesOf(${JSON.stringify([file])}).map(({ title }) => title)`);
    expect(stages).toEqual([title]);
  });

  it.each([
    [
      ['turn.core', 'kill.deep', 'news.deep'],
      [
        ['on a server', 0, false],
        ['core', 5, false],
        ['workers that end', 0, true],
      ],
    ],
    [
      ['turn.core', 'kill.core'],
      [
        ['on a server', 5, false],
        ['workers that end', 0, true],
      ],
    ],
    [
      ['news.deep', 'kill.deep'],
      [
        ['on a server', 5, false],
        ['workers that end', 0, false],
      ],
    ],
  ])('lets core files yield to those that end workers beside them: %j', (names, stages) => {
    const files = JSON.stringify(names.map((name) => `test/e2e/${name}.test.ts`));
    const row = '({ title, yields, isBeside }) => [title, yields ?? 0, isBeside ?? false]';
    expect(evaluate(`tests.stagesOf(${files}).map(${row})`)).toEqual(stages);
  });

  it('takes each file of a level once', () => {
    const [chosen, staged] = [1, 2].map((n) =>
      evaluate(
        n === 1
          ? 'tests.testFiles(tests.LEVELS, [])'
          : 'tests.stagesOf(tests.testFiles(tests.LEVELS, [])).flatMap(({ files }) => files).sort()',
      ),
    );
    expect(staged).toEqual(chosen);
  });
});

const BUDGET = { tolerance: 0.1, pace: 40, levels: { unit: 10 } };

/** A file that took so many seconds, half of them in programs. */
const took = (name: string, seconds: number) => ({
  path: `test/${name}.test.ts`,
  level: 'unit',
  own: seconds / 2,
  children: seconds / 2,
});

it.each<[string, ReturnType<typeof took>[], string[], string[], number?]>([
  ['within', [took('a', 1), took('dear', 6)], [], ['unit: 7 s of processor time, of 10 s']],
  ['a tenth more', [took('dear', 6), took('dear', 5)], [], ['unit: 11 s of processor time, of 10 s']],
  [
    'more than that, and the files that took the most',
    [took('b', 2.2), took('c', 0.1), took('d', 0.2), took('e', 0.3), took('f', 0.4), took('dear', 9)],
    ['unit'],
    [
      'unit: 12 s of processor time, more than 10 s',
      '  test/dear.test.ts: 9 s',
      '  test/b.test.ts: 2.2 s',
      '  test/f.test.ts: 0.4 s',
      '  test/e.test.ts: 0.3 s',
      '  test/d.test.ts: 0.2 s',
    ],
  ],
  [
    'what a machine of half the pace may take',
    [took('dear', 18)],
    [],
    [
      'unit: 18 s of processor time, of 20 s',
      'allowed is 2 times the budget: so much longer the same work took',
    ],
    80,
  ],
  ['a machine that is quicker', [took('dear', 9)], [], ['unit: 9 s of processor time, of 10 s'], 20],
])('compares processor time with the budget: %s', (_name, figures, over, notes, pace = 40) => {
  const [took, allowed] = [figures, BUDGET].map((value) => JSON.stringify(value));
  expect(evaluate(`tests.judge(${took}, ['unit'], ${allowed}, ${pace})`)).toEqual({
    notes,
    over,
  });
});
