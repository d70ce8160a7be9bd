import { createHash } from 'node:crypto';
import { toMessages } from '../../../src/activities/model/model-messages';
import type { FileRef } from '../../../src/contract/session/files';
import type { TranscriptEntry } from '../../../src/contract/transcript';
import { openFileStore } from '../../../src/store';
import type { FileStore } from '../../../src/store/stored-file';
import { scratchDirectory } from '../../support/scratch';

const directory = scratchDirectory();
const open = (): FileStore => {
  const store = openFileStore(directory(), { env: {} });
  if (store === undefined) throw new Error('no store');
  return store;
};

const png = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');
const takes = ['image/*', 'application/pdf'];

/** What a model that takes these reads of a person's words with files. */
const read = async (files: readonly FileRef[], more: { takes?: string[]; store?: FileStore | null } = {}) => {
  const { store = open(), ...model } = more;
  const entries: TranscriptEntry[] = [{ kind: 'words', text: 'look', files: [...files] }];
  return toMessages(entries, { model: { takes, ...model }, store: store ?? undefined });
};

it('gives the bytes of what the model takes, and names the file', async () => {
  const ref = await open().put({ name: 'a.png', bytes: png });
  expect(await read([ref])).toEqual([
    {
      role: 'user',
      content: 'look\n\n[File: a.png (image/png, 12 B)]',
      files: [{ name: 'a.png', mediaType: 'image/png', bytes: png }],
    },
  ]);
});

it('writes text into the words, whatever the model takes', async () => {
  const ref = await open().put({ name: 'a.csv', bytes: Buffer.from('a,b\n1,2') });
  const content = 'look\n\n[File: a.csv (text/csv, 7 B). Its text:]\na,b\n1,2\n[End of a.csv]';
  expect(await read([ref], { takes: [] })).toEqual([{ role: 'user', content }]);
});

it('cuts long text in the middle', async () => {
  const ref = await open().put({ name: 'a.txt', bytes: Buffer.from(`head${'x'.repeat(200_000)}tail`) });
  const [message] = await read([ref]);
  expect(message?.content.length).toBeLessThan(66_000);
  expect(message?.content).toMatch(/head[^]*left out[^]*tail\n\[End of a.txt\]$/);
});

const stored: FileRef = {
  digest: createHash('sha256').update(png).digest('hex'),
  ...{ mediaType: 'image/png', size: 12, name: 'a.png' },
};

it.each<[string, Partial<FileRef>, Parameters<typeof read>[1], string]>([
  [
    'the model takes no such file',
    { mediaType: 'audio/mpeg' },
    {},
    'a.png (audio/mpeg, 12 B): this model takes no files of this type',
  ],
  ['there is no store', {}, { store: null }, 'a.png (image/png, 12 B): this worker has no store of files'],
  ['it is gone', { digest: '0'.repeat(64) }, {}, 'a.png (image/png, 12 B): it is not in the store of files'],
  [
    'it is something else',
    { mediaType: 'application/pdf' },
    {},
    'a.png (application/pdf, 12 B): it is not what its type says',
  ],
])('says in words where %s', async (_what, part, more, why) => {
  await open().put({ name: 'a.png', bytes: png });
  const content = `look\n\n[File that you cannot read: ${why}]`;
  expect(await read([{ ...stored, ...part }], more)).toEqual([{ role: 'user', content }]);
});

it('gives the newest files first where all are too many', async () => {
  const large = (fill: string): Buffer => Buffer.concat([png, Buffer.alloc(9 * 1024 * 1024, fill)]);
  const refs = [
    await open().put({ name: 'old.png', bytes: large('a') }),
    await open().put({ name: 'new.png', bytes: large('b') }),
  ];
  const entries = refs.map((ref): TranscriptEntry => ({ kind: 'words', text: 'look', files: [ref] }));
  const [old, last] = await toMessages(entries, { model: { takes }, store: open() });
  expect(old).toEqual({
    role: 'user',
    content:
      'look\n\n[File that you cannot read: old.png (image/png, 9.0 MiB): it is one of too many files; whoever sent it may send it again]',
  });
  expect(last).toMatchObject({ files: [{ name: 'new.png' }] });
});

it('throws where the store cannot be read now: the question is asked again', async () => {
  const store: FileStore = {
    put: () => Promise.reject(new Error('no')),
    get: () => Promise.reject(new Error('the store is away')),
  };
  await expect(read([stored], { store })).rejects.toThrow('the store is away');
});
