import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyId } from '../src/audit/file-key';
import { fileOf, newKey, record } from './audit/sample';
import { startNode, type Ended } from './cli/process';
import { scratchDirectory } from './support/scratch';

/** The verifier in docs/audit.md, run as a reader would run it. */
const page = readFileSync(join(__dirname, '..', 'docs', 'audit.md'), 'utf8');
const [, script = ''] = /```js\n([^]*?)```/.exec(page) ?? [];
const directory = scratchDirectory();
const key = newKey();
const lines = fileOf(
  [1, 2, 3].map((event) => record(event)),
  { key },
);

const verify = (file: readonly string[], by = keyId(key)): Promise<Ended> => {
  writeFileSync(join(directory(), 'verify.mjs'), script);
  writeFileSync(join(directory(), 'audit.jsonl'), `${file.join('\n')}\n`);
  return startNode(['verify.mjs', 'audit.jsonl', by], { cwd: directory() }).ended;
};

it('finds nothing wrong with a file as it was written', async () => {
  expect(await verify(lines)).toEqual({ code: 0, out: '5 lines, signed up to line 5\n', err: '' });
});

it.each([
  [
    'a fact',
    lines.map((line) => line.replace('"call":"1.1"', '"call":"1.2"')),
    'record 1: its hash is wrong',
  ],
  ['a value', lines.map((line) => line.replace('the boss', 'the chef')), 'record 1: approver is wrong'],
  ['a missing record', lines.toSpliced(2, 1), 'record 2: its place is wrong'],
  ['another key', fileOf([]), 'record 1: its signature is wrong'],
])('finds %s', async (_what, file, message) => {
  expect(await verify(file)).toMatchObject({ code: 1, err: `${message}\n` });
});

it('finds a tail that nobody signed', async () => {
  expect(await verify(lines.slice(0, -1))).toMatchObject({ code: 1, out: '4 lines, signed up to line 0\n' });
});
