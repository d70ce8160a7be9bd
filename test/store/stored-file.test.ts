import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileRef } from '../../src/contract/session/files';
import { openFileStore } from '../../src/store';
import type { FileStore } from '../../src/store/stored-file';
import { drawKey, ringOf } from '../encryption/ring';
import { scratchDirectory } from '../support/scratch';

type StoreOptions = NonNullable<Parameters<typeof openFileStore>[1]>;

const directory = scratchDirectory();
const root = (): string => join(directory(), 'store');

const open = (options: StoreOptions = {}): FileStore => {
  const store = openFileStore(root(), { env: {}, ...options });
  if (store === undefined) throw new Error('no store');
  return store;
};

const bytes = Buffer.from('the numbers of May');
const digest = createHash('sha256').update(bytes).digest('hex');
const pathOf = (of = digest): string => join(root(), of.slice(0, 2), of);
const ref: FileRef = { digest, mediaType: 'text/plain', size: bytes.byteLength, name: 'may.txt' };

const put = (path: string, content: Buffer): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
};

it('keeps bytes by their digest, for every process that opens it', async () => {
  expect(await open().put({ name: 'may.txt', bytes })).toEqual(ref);
  expect(readFileSync(pathOf())).toEqual(bytes);
  expect(await open().get(ref)).toEqual({ bytes });
});

it('keeps the same bytes once, by whatever name', async () => {
  const refs = [await open().put({ name: 'a.txt', bytes }), await open().put({ name: 'b.txt', bytes })];
  expect(refs.map(({ name }) => name)).toEqual(['a.txt', 'b.txt']);
  expect(readdirSync(dirname(pathOf()))).toEqual([digest]);
});

it('heals a file that was damaged, when it comes again', async () => {
  put(pathOf(), Buffer.from('damaged'));
  await open().put({ name: 'may.txt', bytes });
  expect(await open().get(ref)).toEqual({ bytes });
});

it.each<[string, () => void, string]>([
  ['is not there', () => {}, 'it is not in the store of files'],
  ['is a folder', () => mkdirSync(pathOf(), { recursive: true }), 'it is not in the store of files'],
  [
    'is longer than any file',
    () => put(pathOf(), Buffer.alloc(11 * 1024 * 1024)),
    'it is not in the store of files',
  ],
  [
    'has other bytes',
    () => put(pathOf(), Buffer.from('the numbers of June')),
    'its bytes in the store are not those that were sent',
  ],
])('says of a file that %s why there are no bytes', async (_what, prepare, lack) => {
  prepare();
  expect(await open().get(ref)).toEqual({ lack });
});

it.each(['../../etc/passwd', `${'a'.repeat(63)}/`, digest.toUpperCase(), ''])(
  'reads nothing by the digest %j',
  async (hostile) => {
    await expect(open().get({ ...ref, digest: hostile })).rejects.toThrow('not a digest');
  },
);

describe('with keys', () => {
  const key = drawKey('k1');
  const sealer = (keys: string[], required?: boolean) =>
    ringOf({ keys, ...(required === undefined ? {} : { required }) }).fileSealer();

  it('keeps nothing that can be read without them', async () => {
    await open({ sealer: sealer([key]) }).put({ name: 'may.txt', bytes });
    expect(readFileSync(pathOf()).includes(bytes)).toBe(false);
    expect(await open({ sealer: sealer([drawKey('k2'), key]) }).get(ref)).toEqual({ bytes });
  });

  const unreadable = 'it cannot be decrypted with the keys of this worker';
  it.each<[string, () => StoreOptions, string]>([
    ['without keys', () => ({}), unreadable],
    ['with another key', () => ({ sealer: sealer([drawKey('k1')]) }), unreadable],
  ])('is not read %s', async (_how, options, lack) => {
    await open({ sealer: sealer([key]) }).put({ name: 'may.txt', bytes });
    expect(await open(options()).get(ref)).toEqual({ lack });
  });

  it('does not pass for another file', async () => {
    await open({ sealer: sealer([key]) }).put({ name: 'may.txt', bytes });
    const other = createHash('sha256').update('other').digest('hex');
    put(pathOf(other), readFileSync(pathOf()));
    expect(await open({ sealer: sealer([key]) }).get({ ...ref, digest: other })).toEqual({
      lack: unreadable,
    });
  });

  it('reads what was kept before there were keys, unless encryption is required', async () => {
    await open().put({ name: 'may.txt', bytes });
    const lack = 'it is not encrypted in the store, and encryption is required';
    expect(await open({ sealer: sealer([key], false) }).get(ref)).toEqual({ bytes });
    expect(await open({ sealer: sealer([key], true) }).get(ref)).toEqual({ lack });
  });
});

describe('the name of a file', () => {
  it.each([
    ['/home/ann/may.txt', 'may.txt'],
    ['C:\\Users\\ann\\may.txt', 'may.txt'],
    ['../../etc/passwd', 'passwd'],
    ['..', '..'],
    ['photo\u202Egnp.exe', 'photo_gnp.exe'],
    ['a\u0000b\nc\u001b[31m.txt', 'a_b_c_[31m.txt'],
    ['zero\u200Bwidth.txt', 'zero_width.txt'],
    ['', 'file'],
    ['///', 'file'],
    ['ä'.repeat(300) + '.png', `${'ä'.repeat(196)}.png`],
  ])('of %j is %j', async (name, expected) => {
    expect((await open().put({ name, bytes })).name).toBe(expected);
  });
});

describe('the media type of a file', () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1');
  it.each<[string, Buffer, string | undefined, string]>([
    ['x.txt', png, undefined, 'image/png'],
    ['x', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), undefined, 'image/jpeg'],
    ['x', Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'), undefined, 'image/webp'],
    ['x', Buffer.from('%PDF-1.7'), undefined, 'application/pdf'],
    ['x.CSV', Buffer.from('a,b'), undefined, 'text/csv'],
    ['x', Buffer.from('words'), undefined, 'text/plain'],
    ['x', Buffer.from([0xff, 0xfe, 0x00]), undefined, 'application/octet-stream'],
    ['x', bytes, 'Text/Plain; charset=utf-8', 'text/plain'],
  ])('%s %j given as %j is %s', async (name, content, mediaType, expected) => {
    const file = { name, bytes: content, ...(mediaType === undefined ? {} : { mediaType }) };
    expect((await open().put(file)).mediaType).toBe(expected);
  });
});

it.each([
  ['is empty', { bytes: Buffer.alloc(0) }, 'the file a is empty'],
  ['is too long', { bytes: Buffer.alloc(10 * 1024 * 1024 + 1) }, 'the file a is over 10 MiB'],
  ['has no type', { bytes, mediaType: 'image' }, 'the file a has no media type "image"'],
])('takes no file that %s', async (_what, file, message) => {
  await expect(open().put({ name: 'a', ...file })).rejects.toMatchObject({ code: 'usage', message });
  expect(existsSync(root())).toBe(false);
});

it('says why it can neither be written nor read', async () => {
  put(root(), Buffer.from('a file'));
  const code = 'file_failed';
  await expect(open().put({ name: 'a', bytes })).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/cannot be written: /),
  });
  await expect(open().get(ref)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/cannot be read: a part of the path/),
  });
});
