import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addAuditKeys } from '../../../src/cli/commands/audit';
import { scratchDirectory } from '../../support/scratch';
import { runCommand } from '../command';

const scratch = scratchDirectory();
const file = (): string => join(scratch(), 'audit.key');
const keys = (...args: string[]) => runCommand(addAuditKeys, {}, 'keys', file(), ...args);

it('writes a private key for its owner alone, and a public one', async () => {
  const { printed } = await keys();
  expect(printed[0]).toBe(`wrote ${file()} and ${file()}.pub`);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readFileSync(`${file()}.pub`, 'utf8')).toContain('PUBLIC KEY');
});

it('prints the names of the files as JSON', async () => {
  const { printed } = await keys('--json');
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ privateFile: file(), publicFile: `${file()}.pub` });
});

it('keeps the private key out of the project', async () => {
  const env = { XDG_STATE_HOME: scratch() };
  const before = process.cwd();
  process.chdir(scratch());
  try {
    const { printed } = await runCommand(
      (audit, context) => addAuditKeys(audit, { ...context, env }),
      {},
      'keys',
    );
    const kept = join(scratch(), 'countersign', 'audit.key');
    expect(printed[0]).toBe(`wrote ${kept} and countersign-audit.key.pub`);
    expect(readFileSync('countersign-audit.key.pub', 'utf8')).toContain('PUBLIC KEY');
    expect(existsSync('countersign-audit.key')).toBe(false);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
  } finally {
    process.chdir(before);
  }
});

it('overwrites no key', async () => {
  writeFileSync(file(), 'mine');
  await expect(keys()).rejects.toMatchObject({ code: 'file_failed' });
  expect(readFileSync(file(), 'utf8')).toBe('mine');
});

it('leaves no private key behind where the public one cannot be written', async () => {
  writeFileSync(`${file()}.pub`, 'mine');
  await expect(keys()).rejects.toMatchObject({ code: 'file_failed' });
  expect(existsSync(file())).toBe(false);
});
