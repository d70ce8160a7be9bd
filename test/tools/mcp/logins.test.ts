import { chmodSync, symlinkSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { aloneWith, loginFile, readLogin, removeLogin, writeLogin } from '../../../src/tools/mcp/logins';
import { createSecrets } from '../../../src/tools/secrets';
import { scratchDirectory } from '../../support/scratch';
import { account, keep, loginsUnder } from './login-support';

const scratch = scratchDirectory();
loginsUnder(scratch);

const URL_ = 'https://mcp.example.com/mcp';
const LOGIN = {
  version: 1,
  url: URL_,
  issuer: 'https://as.example.com',
  tokenEndpoint: 'https://as.example.com/token',
  clientId: 'ours',
  accessToken: 'access-token-of-ann',
  refreshToken: 'refresh-token-of-ann',
} as const;

it('has a file for each URL and client', () => {
  const files = [
    { url: URL_ },
    { url: `${URL_}/` },
    { url: URL_, clientId: 'ours' },
    { url: 'https://x', clientId: '' },
  ].map(loginFile);
  expect(new Set(files).size).toBe(4);
  expect(files.every((file) => file.startsWith(`${scratch()}/countersign/mcp/`))).toBe(true);
});

it('reads what it wrote, and knows its secrets from then on', async () => {
  const secrets = createSecrets();
  const of = account(URL_);
  expect(readLogin(of, secrets)).toBeUndefined();
  await aloneWith(of, () => writeLogin(of, LOGIN));
  expect(readLogin(of, secrets)).toEqual(LOGIN);
  expect(secrets.hide('access-token-of-ann, refresh-token-of-ann')).toBe('[redacted], [redacted]');
  await removeLogin(of);
  expect(readLogin(of, secrets)).toBeUndefined();
});

it.each<[string, unknown, number, string]>([
  ['others can read', LOGIN, 0o644, 'can be read or changed by others'],
  ['others can write', LOGIN, 0o620, 'can be read or changed by others'],
  ['is of another server', { ...LOGIN, url: 'https://evil.example/mcp' }, 0o600, 'does not hold its login'],
  ['holds something else', { tokens: [] }, 0o600, 'does not hold its login'],
  ['is of a later version', { ...LOGIN, version: 2 }, 0o600, 'does not hold its login'],
])('refuses a file that %s', (_case, login, mode, why) => {
  const of = account(URL_);
  chmodSync(keep(of, login), mode);
  expect(() => readLogin(of, createSecrets())).toThrow(
    expect.objectContaining({ code: 'file_failed', message: expect.stringContaining(why) }),
  );
});

it('refuses what is not a file', () => {
  const of = account(URL_);
  mkdirSync(loginFile(of), { recursive: true });
  expect(() => readLogin(of, createSecrets())).toThrow('is not a file');
});

it('follows a link to a file of the owner, as mounted secrets are', () => {
  const of = account(URL_);
  mkdirSync(dirname(loginFile(of)), { recursive: true });
  writeFileSync(`${scratch()}/mounted`, JSON.stringify(LOGIN), { mode: 0o600 });
  symlinkSync(`${scratch()}/mounted`, loginFile(of));
  expect(readLogin(of, createSecrets())).toEqual(LOGIN);
});
