import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support/build';

const doc = readFileSync(join(root, 'docs', 'background', 'seeds.md'), 'utf8');

/** Each test that the tables name: its file, and the title or row in it. */
const named = [...doc.matchAll(/`([\w./-]+\.test\.ts)`: (.+?)(?=; `[\w./-]+\.test\.ts`| *\|$)/gm)].flatMap(
  ([, file = '', titles = '']) => titles.split(' · ').map((title): [string, string] => [file, title]),
);

it('names a test for each promise', () => {
  const rows = doc.split('\n').filter((line) => /^\| (?!Promise|-)/.test(line));
  expect(rows.length).toBeGreaterThan(40);
  for (const row of rows) expect(row).toMatch(/ \| `[\w./-]+\.test\.ts`: /);
  expect(named.length).toBeGreaterThan(rows.length);
});

it.each(named)('%s has “%s”', (file, title) => {
  expect(readFileSync(join(root, 'test', file), 'utf8')).toContain(title);
});
