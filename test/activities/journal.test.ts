import { createHash } from 'node:crypto';
import { appendFile, chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJournal, type Journal, type OutcomeSealer } from '../../src/activities/journal';
import { makeSuccess } from '../../src/contract/result';
import { loadEncryption } from '../../src/encryption/load';

let directory: string;
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'countersign-journal-'))));
afterEach(() => rm(directory, { recursive: true, force: true }));

const result = makeSuccess(
  { id: 'm', callId: '1.1', tool: 'pay', arguments: {} },
  { content: 'paid', contentType: 'text' },
  { timestamp: '2026-01-01T00:00:00.000Z' },
);
const onlyFile = async (): Promise<string> => join(directory, (await readdir(directory))[0] ?? 'none');

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
    const other = join(directory, createHash('sha256').update('other').digest('hex'));
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
  await journal.prune();
  expect(await journal.read('old')).toEqual({ state: 'none' });
  expect(await journal.read('new')).toEqual({ state: 'started' });
  await createJournal(join(directory, 'none')).prune();
  await chmod(directory, 0o700);
});
