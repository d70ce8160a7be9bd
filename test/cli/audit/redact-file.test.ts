import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { redactFile } from '../../../src/cli/audit/redact-file';
import { verifyFile } from '../../../src/cli/audit/verify-file';
import { scratchDirectory } from '../../support/scratch';
import { fileOf, record } from '../../history/audit/sample';

const directory = scratchDirectory();
const path = (name = 'audit.jsonl'): string => join(directory(), name);
const lines = fileOf([record(1), record(2, { turn: 'turn-2' }), record(3, { turn: 'turn-22' })]);
beforeEach(() => writeFileSync(path(), `${lines.join('\n')}\n`));

it('replaces the file by one without the values, for its owner alone', async () => {
  await expect(redactFile(path(), { fields: ['approver'], out: path() })).resolves.toEqual({
    file: path(),
    taken: 3,
    redacted: 3,
  });
  expect(readFileSync(path(), 'utf8')).not.toContain('the boss');
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  await expect(verifyFile(path(), {})).resolves.toMatchObject({ records: 3, signed: 3, redacted: 3 });
  expect(readdirSync(directory())).toEqual(['audit.jsonl']);
});

it('takes nothing more out the second time', async () => {
  await redactFile(path(), { fields: ['approver'], out: path() });
  const before = readFileSync(path());
  await expect(redactFile(path(), { fields: ['approver'], out: path() })).resolves.toMatchObject({
    taken: 0,
    redacted: 3,
  });
  expect(readFileSync(path())).toEqual(before);
});

it('takes values out of one turn only, into a copy', async () => {
  const out = path('copy.jsonl');
  await expect(
    redactFile(path(), { fields: ['approver', 'reason'], turn: 'turn-2', out }),
  ).resolves.toMatchObject({
    taken: 2,
  });
  expect(readFileSync(path(), 'utf8')).toBe(`${lines.join('\n')}\n`);
  expect(readFileSync(out, 'utf8').match(/the boss/g)).toHaveLength(2);
});

it.each([
  ['was changed', () => lines.join('\n').replace('approved', 'modified'), 'audit_broken'],
  ['was cut', () => lines.join('\n').slice(0, -10), 'audit_broken'],
  ['is something else', () => 'hello\n', 'audit_invalid'],
])('leaves a file that %s as it is', async (_what, text, code) => {
  writeFileSync(path(), text());
  await expect(redactFile(path(), { fields: ['approver'], out: path() })).rejects.toMatchObject({ code });
  expect(readFileSync(path(), 'utf8')).toBe(text());
  expect(readdirSync(directory())).toEqual(['audit.jsonl']);
});

it('says what is not there', async () => {
  await expect(redactFile(path('no'), { fields: ['approver'], out: path('no') })).rejects.toMatchObject({
    code: 'file_failed',
  });
  expect(existsSync(path('no'))).toBe(false);
});
