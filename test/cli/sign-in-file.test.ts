import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSignInFile } from '../../src/cli/sign-in-file';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-sign-in-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const read = async (text: string, env: NodeJS.ProcessEnv = {}) => {
  const file = join(directory, 'sign-in.yaml');
  await writeFile(file, text);
  return readSignInFile(file, env);
};

const ISSUER = 'issuer: https://login.example.com, clientId: inbox';
const FILE = `publicUrl: https://inbox.example.com\noidc: { ${ISSUER} }\n`;

it('reads an issuer, with its secret from the environment', async () => {
  expect(await read(FILE, { COUNTERSIGN_OIDC_SECRET: 's3cret' })).toEqual({
    publicUrl: 'https://inbox.example.com',
    oidc: { issuer: 'https://login.example.com', clientId: 'inbox', clientSecret: 's3cret' },
    access: { mayFork: [], mayConverse: [] },
  });
  expect(await read(FILE)).not.toHaveProperty('oidc.clientSecret', expect.anything());
});

it('reads the secret from a file beside it that only its owner may read', async () => {
  const secret = join(directory, 'secret');
  await writeFile(secret, 's3cret\n', { mode: 0o600 });
  const text = FILE.replace(' }', ', secretFile: secret }');
  expect(await read(text, { COUNTERSIGN_OIDC_SECRET: 'other' })).toHaveProperty(
    'oidc.clientSecret',
    's3cret',
  );
  await chmod(secret, 0o644);
  await expect(read(text)).rejects.toThrow('it can be read or changed by others');
  await writeFile(secret, ' \n');
  await chmod(secret, 0o600);
  await expect(read(text)).rejects.toThrow('is empty');
  await rm(secret);
  await expect(read(text)).rejects.toThrow('it does not exist');
});

it.each([
  ['', 'sign-in.yaml:1:1'],
  [`${FILE}secret: x\n`, 'sign-in.yaml:3:9: the file has no field `secret`'],
  [FILE.replace(' }', ', clientSecret: s3cret }'), '`oidc` has no field `clientSecret`'],
  [FILE.replace('https://login', 'http://login'), 'must be https, except on this machine'],
  [FILE.replace('https://login', 'ftp://login'), 'must be an address'],
  [FILE.replace('https://inbox', 'http://inbox'), 'must be https, except on this machine'],
  [FILE.replace(' }', ', scopes: [email] }'), 'must have openid'],
  [FILE.replace(' }', ", scopes: ['openid email'] }"), 'must be a scope'],
  [`${FILE}access: { mayFork: ['group: x'] }\n`, 'must be a person or group:<name>'],
  [`${FILE}publicUrl: https://other.example.com\n`, 'sign-in.yaml:3:1'],
])('refuses %j', async (text, message) => {
  await expect(read(text)).rejects.toEqual(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
  );
});

it('says that there is no file', async () => {
  await expect(readSignInFile(join(directory, 'none.yaml'), {})).rejects.toEqual(
    expect.objectContaining({ code: 'file_failed' }),
  );
});

const PROXY = 'header: X-Proxy-JWT, issuer: https://proxy.example.com, audience: inbox';
const proxied = (more: string, head = PROXY): string =>
  `publicUrl: https://inbox.example.com\nproxy: { ${head}, ${more} }\n`;

it('reads a reverse proxy, with the address of its keys or a file of them', async () => {
  const head = { header: 'x-proxy-jwt', issuer: 'https://proxy.example.com', audience: 'inbox' };
  const url = 'https://proxy.example.com/jwks';
  expect(await read(proxied(`jwks: '${url}'`))).toEqual({
    publicUrl: 'https://inbox.example.com',
    proxy: { ...head, keys: { url } },
    access: { mayFork: [], mayConverse: [] },
  });
  const set = { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] };
  await writeFile(join(directory, 'keys.json'), JSON.stringify(set));
  expect(await read(proxied('keyFile: keys.json'))).toMatchObject({ proxy: { ...head, keys: { set } } });
});

it.each([
  ['a secret key', { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }],
  ['a private key', { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }] }],
  ['no key', { keys: [] }],
  ['something else', 'key'],
])('refuses %s as a key of the proxy', async (_case, set) => {
  await writeFile(join(directory, 'keys.json'), JSON.stringify(set));
  await expect(read(proxied('keyFile: keys.json'))).rejects.toThrow(
    'is not a JSON Web Key Set of public keys',
  );
});

it.each([
  ['neither issuer nor proxy', 'publicUrl: https://inbox.example.com\n', 'must have `oidc` or `proxy`'],
  ['no keys', `publicUrl: https://inbox.example.com\nproxy: { ${PROXY} }\n`, 'one of `jwks` and `keyFile`'],
  ['keys twice', proxied('jwks: https://a.example.com, keyFile: k'), 'one of `jwks` and `keyFile`'],
  ['keys over plain http', proxied('jwks: http://proxy.example.com/jwks'), 'must be https'],
  [
    'a header of browsers',
    proxied('keyFile: k', PROXY.replace('X-Proxy-JWT', 'Cookie')),
    'of the proxy alone',
  ],
  [
    'no audience',
    proxied('keyFile: k', PROXY.replace(', audience: inbox', '')),
    '`proxy.audience` is missing',
  ],
])('refuses a file with %s', async (_case, text, message) => {
  await expect(read(text)).rejects.toThrow(message);
});
