import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../support/build';

/** Evaluates an expression over `mass`, the module that counts. */
const evaluate = (expression: string): unknown => {
  const module = JSON.stringify(join(root, 'scripts', 'mass.mjs'));
  const script = `import(${module}).then((mass) => ${expression}).catch(({ message }) => message)`;
  const printed = `${script}.then((value) => console.log(JSON.stringify(value)))`;
  return JSON.parse(execFileSync(process.execPath, ['-e', printed], { encoding: 'utf8' }));
};

it('counts leaves alike, however lines are packed and whatever is commented', () => {
  const texts = [
    'const one = 1;\nconst two = `a ${one}`;\n',
    'const one = 1; const two = `a ${one}`;',
    '/** Says {@link one}. */\nconst one = 1; // why\nconst two = `a ${\n  one /* here */}`;\n',
  ];
  const counts = `${JSON.stringify(texts)}.map((text) => mass.leavesOf(mass.parse('a.ts', text)))`;
  expect(evaluate(counts)).toEqual([12, 12, 12]);
});

const compare = (figures: object, recorded: object): unknown =>
  evaluate(`mass.compare(${JSON.stringify(figures)}, ${JSON.stringify(recorded)})`);

it('says which figure rose and by how much, and lowers only those that fell', () => {
  expect(compare({ leaves: 1200, types: 3, bin: 5 }, { leaves: 1100, types: 3, bin: 6 })).toEqual({
    risen: ["leaves rose by 100, from 1,100 to 1,200 (leaves of TypeScript's syntax tree of src)"],
    fallen: ['bin'],
    lowered: { leaves: 1100, types: 3, bin: 5 },
  });
});

it.each([
  ['one that is not recorded', { leaves: 1, flags: 2 }, { leaves: 1 }],
  ['one that nobody counts', { leaves: 1 }, { leaves: 1, flags: 2 }],
])('refuses a figure: %s', (_case, figures, recorded) => {
  expect(compare(figures, recorded)).toBe('scripts/mass.json and scripts/mass.mjs differ in flags');
});
