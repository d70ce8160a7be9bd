import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFile } from '../../src/cli/open-turn';

const folder = mkdtempSync(join(tmpdir(), 'countersign-open-'));
writeFileSync(join(folder, 'turn'), '{}');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each<[string, string, boolean]>([
  ['an id', 'turn-01j9', false],
  ['a name that ends as files do', 'turn-01j9.json', true],
  ['a path that is not there', './turn-01j9', true],
  ['a call', 'turn-01j9/1.1', false],
  ['a file without an ending', join(folder, 'turn'), true],
  ['a folder', folder, false],
])('%s', (_, named, expected) => {
  expect(isFile(named)).toBe(expected);
});
