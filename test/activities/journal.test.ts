import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  appendFile,
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createJournal,
  type Journal,
  journalFault,
  type OutcomeSealer,
  prune,
} from '../../src/activities/journal';
import { makeSuccess } from '../../src/contract/result';
import { loadEncryption } from '../../src/encryption/load';
import { until } from '../support/until';

let directory: string;
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'countersign-journal-'))));
afterEach(() => rm(directory, { recursive: true, force: true }));

const result = makeSuccess(
  { id: 'm', callId: '1.1', tool: 'pay', arguments: {} },
  { content: 'paid', contentType: 'text' },
  { timestamp: '2026-01-01T00:00:00.000Z' },
);
const onlyFile = async (): Promise<string> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const file = entries.find((entry) => entry.isFile());
  return join(file?.parentPath ?? directory, file?.name ?? 'none');
};

it('knows nothing of a key, then its start, then its outcome', async () => {
  const journal = createJournal(join(directory, 'not', 'there', 'yet'));
  expect(await journal.read('k')).toEqual({ state: 'none' });
  expect(await journal.begin('k')).toBe(true);
  expect(await journal.read('k')).toEqual({ state: 'started' });
  await journal.end('k', result);
  expect(await journal.read('k')).toEqual({ state: 'ended', result });
});

it('lets one of many begin', async () => {
  const journals = Array.from({ length: 20 }, () => createJournal(directory));
  const began = await Promise.all(journals.map((journal) => journal.begin('k')));
  expect(began.filter(Boolean)).toHaveLength(1);
});

it('outlives its process', async () => {
  await createJournal(directory).begin('k');
  const later = createJournal(directory);
  expect(await later.begin('k')).toBe(false);
  expect(await later.begin('other')).toBe(true);
});

it.each(['', '{"ended":', '{"ended":null}', 'no json', '\u0000\u0000'])(
  'takes a torn outcome %j for a start',
  async (torn) => {
    const journal = createJournal(directory);
    await journal.begin('k');
    await appendFile(await onlyFile(), torn);
    expect(await journal.read('k')).toEqual({ state: 'started' });
  },
);

describe('with keys', () => {
  const ring = (...ids: string[]): OutcomeSealer => {
    const keys = ids.map((id) => `${id}:${createHash('sha256').update(id).digest('base64')}`);
    const sealer = loadEncryption({ keys }, {}).sealer();
    if (sealer === undefined) throw new Error('there are keys');
    return sealer;
  };
  const secret = makeSuccess(
    { id: 'm', callId: '1.1', tool: 'pay', arguments: { iban: 'DE89-370400440532013000' } },
    { content: 'paid to DE89-370400440532013000', contentType: 'text' },
    { timestamp: '2026-01-01T00:00:00.000Z' },
  );
  const ended = async (key = 'k'): Promise<void> => {
    const journal = createJournal(directory, ring('new'));
    await journal.begin(key);
    await journal.end(key, secret);
  };

  it('keeps no argument and no result that can be read, and reads them again', async () => {
    await ended();
    const text = await readFile(await onlyFile(), 'utf8');
    for (const part of ['DE89', 'pay', 'iban', Buffer.from('DE89-3704').toString('base64').slice(0, 9)])
      expect(text).not.toContain(part);
    expect(await createJournal(directory, ring('new')).read('k')).toEqual({ state: 'ended', result: secret });
    expect(await createJournal(directory, ring('newer', 'new')).read('k')).toEqual({
      state: 'ended',
      result: secret,
    });
  });

  it.each<[string, () => Journal]>([
    ['other keys', () => createJournal(directory, ring('other'))],
    ['no keys', () => createJournal(directory)],
  ])(
    'takes what it cannot decrypt with %s for a start, so that nothing starts twice',
    async (_what, open) => {
      await ended();
      expect(await open().read('k')).toEqual({ state: 'started' });
      expect(await open().begin('k')).toBe(false);
    },
  );

  it('takes an outcome that was altered, moved from another call, or never encrypted for a start', async () => {
    await ended();
    const file = await onlyFile();
    const text = await readFile(file, 'utf8');
    const sealed = createJournal(directory, ring('new'));
    const bytes = text.trimEnd();
    const flipped = bytes.at(-20) === 'A' ? 'B' : 'A';
    await writeFile(
      file,
      `${bytes.slice(0, -20)}${flipped}${bytes.slice(-19)}
`,
    );
    expect(await sealed.read('k')).toEqual({ state: 'started' });
    await sealed.begin('other');
    const name = createHash('sha256').update('other').digest('hex');
    const other = join(directory, name.slice(0, 2), name);
    await appendFile(other, text.split('\n').slice(1).join('\n'));
    expect(await sealed.read('other')).toEqual({ state: 'started' });
    await writeFile(file, text);
    expect(await sealed.read('k')).toEqual({ state: 'ended', result: secret });
    await appendFile(file, `${JSON.stringify({ ended: secret })}\n`);
    expect(await sealed.read('k')).toEqual({ state: 'started' });
  });
});

it('is for its owner only, and tells nothing by its names', async () => {
  await createJournal(directory).begin('secret-order-77');
  const file = await onlyFile();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(file).not.toContain('secret');
});

it('fails loudly where it cannot write', async () => {
  const file = join(directory, 'a-file');
  await appendFile(file, '');
  await expect(createJournal(join(file, 'journal')).begin('k')).rejects.toMatchObject({ code: 'ENOTDIR' });
  await expect(createJournal(directory).end('never-begun', result)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('forgets after 90 days, not before', async () => {
  const journal = createJournal(directory);
  await journal.begin('old');
  const old = await onlyFile();
  await journal.begin('new');
  const days = (n: number): Date => new Date(Date.now() - n * 24 * 3600 * 1000);
  await utimes(old, days(91), days(91));
  await prune(dirname(old));
  expect(await journal.read('old')).toEqual({ state: 'none' });
  expect(await journal.read('new')).toEqual({ state: 'started' });
  await prune(join(directory, 'none'));
});

it('prunes one folder after the other while it is used', async () => {
  const journal = createJournal(directory);
  await journal.begin('old');
  const old = await onlyFile();
  const days = new Date(Date.now() - 91 * 24 * 3600 * 1000);
  await utimes(old, days, days);
  // Sums of fractions may be a trifle less than what was added.
  let now = Math.ceil(performance.now());
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  for (let round = 0; round < 256; round++) {
    now += 60_000;
    await journal.begin(`call ${round}`);
  }
  jest.restoreAllMocks();
  await until('the old entry to be gone', async () => !existsSync(old));
});

it('keeps no half intent where the disk is full, so the call may start elsewhere', async () => {
  const told: (string | undefined)[] = [];
  const journal = createJournal(directory, undefined, (why) => told.push(why));
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const spy = jest.spyOn(await handleShape(), 'sync').mockRejectedValue(full);
  await expect(journal.begin('k')).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(await journal.fault()).toContain('ENOSPC');
  expect(await createJournal(directory).read('k')).toEqual({ state: 'none' });
  expect(told).toEqual([expect.stringContaining('ENOSPC')]);
  spy.mockRestore();
});

it('works again once a write works, and says each of the two once', async () => {
  const folder = join(directory, 'journal');
  await writeFile(folder, 'a file where the folder should be');
  const told: (string | undefined)[] = [];
  const journal = createJournal(folder, undefined, (why) => told.push(why));
  let now = Math.ceil(performance.now());
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  expect(await journal.fault()).toContain('ENOTDIR');
  await expect(journal.read('k')).rejects.toMatchObject({ code: 'ENOTDIR' });
  await rm(folder);
  expect(await journal.fault()).toContain('ENOTDIR');
  now += 3_000;
  expect(await journal.fault()).toBeUndefined();
  jest.restoreAllMocks();
  expect(await journal.begin('k')).toBe(true);
  expect(told).toEqual([expect.stringContaining('ENOTDIR'), undefined]);
});

it.each<[string, (at: string) => Promise<unknown>, string | undefined]>([
  ['a folder that is there', (at) => mkdir(at), undefined],
  ['a folder that can be made', async () => undefined, undefined],
  ['a file in the place of the folder', (at) => writeFile(at, ''), 'EEXIST'],
  [
    'a file above the folder',
    (at) => rm(dirname(at), { recursive: true }).then(() => writeFile(dirname(at), '')),
    'EEXIST',
  ],
])('says of %s whether a journal can be kept there, and makes no folder', async (_what, make, why) => {
  const at = join(directory, 'state', 'journal');
  await mkdir(dirname(at));
  await make(at);
  const before = await readdir(directory, { recursive: true });
  const found = await journalFault(at);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(why);
  if (!before.includes('state/journal'))
    expect(await readdir(directory, { recursive: true })).toEqual(before);
});

/** The object that has the functions of all file handles. */
async function handleShape(): Promise<FileHandle> {
  const handle = await open(directory, 'r');
  await handle.close();
  return Object.getPrototypeOf(handle);
}
