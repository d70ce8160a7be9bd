import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadEncryption } from '../../src/encryption/load';
import { drawKey } from './ring';

const [one, two] = [drawKey('one'), drawKey('two')];
const secretOf = (key: string): string => key.split(':')[1] ?? '';
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-keys-'));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const fileOf = async (name: string, text: string, mode = 0o600): Promise<string> => {
  const path = join(directory, name);
  await writeFile(path, text, { mode });
  return path;
};

const thrownBy = (load: () => unknown): unknown => {
  try {
    return load();
  } catch (error) {
    return error;
  }
};

it.each([
  ['with commas', `${one},${two}`],
  ['one a line', `${one}\n${two}\n`],
  ['with comments, blanks and a carriage return', `# newest first\n\n  ${one} ,\r\n${two}\r\n`],
])('reads keys %s from the environment', (_, text) => {
  expect(loadEncryption({}, { COUNTERSIGN_ENCRYPTION_KEYS: text })).toMatchObject({
    enabled: true,
    required: true,
    keyIds: ['one', 'two'],
  });
});

it.each([
  ['nothing', {}, { enabled: false, required: false }],
  [
    'empty variables',
    { COUNTERSIGN_ENCRYPTION_KEYS: '', COUNTERSIGN_ENCRYPTION_REQUIRED: '' },
    { enabled: false },
  ],
  ['keys', { COUNTERSIGN_ENCRYPTION_KEYS: one }, { required: true }],
  [
    'keys, not required',
    { COUNTERSIGN_ENCRYPTION_KEYS: one, COUNTERSIGN_ENCRYPTION_REQUIRED: 'false' },
    { enabled: true, required: false },
  ],
  ['not required', { COUNTERSIGN_ENCRYPTION_REQUIRED: '0' }, { enabled: false, required: false }],
])('from %s', (_, env, expected) => {
  expect(loadEncryption({}, env)).toMatchObject(expected);
});

it('takes options before the environment', () => {
  const env = { COUNTERSIGN_ENCRYPTION_KEY_FILE: '/nowhere', COUNTERSIGN_ENCRYPTION_REQUIRED: 'true' };
  expect(loadEncryption({ keys: [two], required: false }, env)).toMatchObject({
    keyIds: ['two'],
    required: false,
  });
});

const short = Buffer.alloc(16, 7).toString('base64');
const zeros = Buffer.alloc(32).toString('base64');

it.each([
  ['a key without an id', secretOf(one)],
  ['an id with a blank', `my key:${secretOf(one)}`],
  ['an id of 65 characters', `${'k'.repeat(65)}:${secretOf(one)}`],
  ['a key of 16 bytes', `one:${short}`],
  ['a key of zeros', `one:${zeros}`],
  ['a key in hex', `one:${Buffer.from(secretOf(one), 'base64').toString('hex')}`],
  ['a key with one character more', `${one}A`],
  ['two keys of one id', `${one},one:${secretOf(two)}`],
  ['one key twice', `${one},two:${secretOf(one)}`],
  ['only comments', '# nothing'],
])('refuses %s, and repeats no key', (_, text) => {
  const error = thrownBy(() => loadEncryption({}, { COUNTERSIGN_ENCRYPTION_KEYS: text }));
  expect(error).toMatchObject({ code: 'config_invalid', hint: expect.stringContaining('openssl rand') });
  const told = error instanceof Error ? error.message : '';
  for (const secret of [secretOf(one), secretOf(two), short, zeros]) expect(told).not.toContain(secret);
});

it.each([
  ['required without keys', { COUNTERSIGN_ENCRYPTION_REQUIRED: 'true' }, 'there are no keys'],
  ['a flag that is neither', { COUNTERSIGN_ENCRYPTION_REQUIRED: 'yes' }, 'neither true nor false'],
  [
    'keys from two places',
    { COUNTERSIGN_ENCRYPTION_KEYS: one, COUNTERSIGN_ENCRYPTION_KEY_FILE: 'x' },
    'both as a list and as a file',
  ],
  ['a file that is not there', { COUNTERSIGN_ENCRYPTION_KEY_FILE: '/nowhere/keys' }, 'does not exist'],
  ['a folder', { COUNTERSIGN_ENCRYPTION_KEY_FILE: tmpdir() }, 'is not a file'],
])('refuses %s', (_, env, message) => {
  expect(thrownBy(() => loadEncryption({}, env))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(message),
  });
});

describe('a key file', () => {
  it('is read where only its owner can read it', async () => {
    const path = await fileOf('keys', `# keys\n${one}\n${two}\n`);
    expect(loadEncryption({ keyFile: path }, {}).keyIds).toEqual(['one', 'two']);
    expect(loadEncryption({}, { COUNTERSIGN_ENCRYPTION_KEY_FILE: path }).keyIds).toEqual(['one', 'two']);
  });

  it.each([0o640, 0o604, 0o620, 0o644])('is refused with mode %o', async (mode) => {
    const path = await fileOf(`keys-${mode}`, one, mode);
    await chmod(path, mode);
    expect(thrownBy(() => loadEncryption({ keyFile: path }, {}))).toMatchObject({
      code: 'config_invalid',
      hint: `Run: chmod 600 ${path}`,
    });
  });

  it('is refused over 64 KiB', async () => {
    const path = await fileOf('big', '#'.repeat(64 * 1024 + 1));
    expect(thrownBy(() => loadEncryption({ keyFile: path }, {}))).toMatchObject({
      message: expect.stringContaining('over 64 KiB'),
    });
  });
});
