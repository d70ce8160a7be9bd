import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Mutant {
  name: string;
  file: string;
  find: string;
  put: string;
  tests: string[];
}

const root = join(__dirname, '..', '..');
const { mutants, whyStale, withMutant } = jest.requireActual<{
  mutants: Mutant[];
  whyStale(mutant: Mutant, read: (file: string) => string | undefined): string | undefined;
  withMutant(mutant: Mutant, source: string): string;
}>('../../scripts/mutants/list.cjs');

const read = (file: string): string | undefined =>
  existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined;

it('each mutant fits its file, and its tests are there', () => {
  const stale = mutants.flatMap((mutant) => {
    const why = whyStale(mutant, read);
    return why === undefined ? [] : [`${mutant.name}: ${why}`];
  });
  expect(stale).toEqual([]);
});

it('each mutant has a name of its own, and only unit tests', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  const levels = mutants
    .flatMap(({ tests }) => tests)
    .filter((test) => !/^test\/[\w/-]+\.test\.ts$/.test(test));
  expect(levels).toEqual([]);
});

const mutant = { name: 'm', file: 'a.ts', find: "if (a) return '$&';", put: '', tests: ['a.test.ts'] };

it.each<[string, Partial<Mutant>, string | undefined]>([
  ['fits', {}, undefined],
  ['is gone', { find: 'if (b)' }, 'its file has the text 0 times, not once'],
  ['is there twice', { find: 'a' }, 'its file has the text 2 times, not once'],
  ['has lost its file', { file: 'b.ts' }, 'its file has the text 0 times, not once'],
  ['has lost its tests', { tests: ['a.test.ts', 'b.test.ts'] }, 'there is no b.test.ts'],
  ['changes nothing', { put: mutant.find }, 'it changes nothing'],
])('says of a mutant whether it %s', (_, change, why) => {
  const files: Record<string, string> = { 'a.ts': `a; ${mutant.find}`, 'a.test.ts': '' };
  expect(whyStale({ ...mutant, ...change }, (file) => files[file])).toBe(why);
});

it('puts the text of a mutant in as it stands', () => {
  expect(withMutant({ ...mutant, find: 'b', put: '$&' }, 'a b c')).toBe('a $& c');
});
