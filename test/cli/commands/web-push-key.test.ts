import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addPushKey } from '../../../src/cli/commands/web';
import { isPair } from '../../../src/notify/push-keys';
import { scratchDirectory } from '../../support/scratch';
import { runCommand } from '../command';

const scratch = scratchDirectory();
const file = (): string => join(scratch(), 'push.key');
const make = (...args: string[]) => runCommand(addPushKey, {}, 'push-key', file(), ...args);

it('writes the secret key for its owner alone, and prints the channel with the public one', async () => {
  const { printed } = await make();
  const [, publicKey = ''] = /publicKey: (\S+)/.exec(printed.join('\n')) ?? [];
  expect(isPair({ publicKey, privateKey: readFileSync(file(), 'utf8').trim() })).toBe(true);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

it('prints JSON', async () => {
  expect(JSON.parse((await make('--json')).printed[0] ?? '')).toMatchObject({ keyFile: file() });
});

it('overwrites no key', async () => {
  writeFileSync(file(), 'mine');
  await expect(make()).rejects.toMatchObject({ code: 'usage' });
  expect(readFileSync(file(), 'utf8')).toBe('mine');
});
