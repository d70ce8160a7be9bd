import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { openAuditFile, readHead, redactFile, verifyFile, type Written } from '../../src/audit/audit-file';
import type { AuditRecord } from '../../src/audit/format';
import { readLine } from '../../src/audit/read';
import { continueChain } from '../../src/audit/chain';
import { keyId, makeKeys, readPrivateKey } from '../../src/audit/file-key';
import { ensureBuilt, lib } from '../support/build';
import { scratchDirectory } from '../support/scratch';
import { AT, fileOf, newKey, record } from './sample';
import { startNode } from '../cli/process';
import { until } from '../support/until';

const directory = scratchDirectory();
const key = newKey();
const fileName = (): string => join(directory(), 'audit.jsonl');
const owner = { namespace: 'default', key, at: AT };
const all = [1, 2, 3, 4, 5].map((event) => record(event));

const exportTo = async (path: string, records: readonly AuditRecord[] = all): Promise<Written> => {
  const file = await openAuditFile(path, owner);
  for (const one of records) await file.add(one);
  return file.finish(AT);
};
const verify = (path: string) => verifyFile(path, { key: keyId(key) });
const eventsIn = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line) => JSON.parse(line).event ?? []);

it('starts a file that only its owner can read', async () => {
  await expect(exportTo(fileName())).resolves.toMatchObject({ added: 5, records: 5, head: { n: 6 } });
  expect(statSync(fileName()).mode & 0o777).toBe(0o600);
  await expect(verify(fileName())).resolves.toMatchObject({ records: 5, signed: 5 });
});

it('changes no byte where nothing is new', async () => {
  await exportTo(fileName());
  const before = readFileSync(fileName());
  await expect(exportTo(fileName())).resolves.toMatchObject({ added: 0, records: 5, head: { n: 6 } });
  expect(readFileSync(fileName())).toEqual(before);
});

it('signs a file of no records too', async () => {
  await expect(exportTo(fileName(), [])).resolves.toMatchObject({ added: 0, records: 0, head: { n: 1 } });
  await expect(verify(fileName())).resolves.toMatchObject({ records: 0, head: { n: 1 } });
});

it('appends only what is new, after what was there', async () => {
  await exportTo(fileName(), all.slice(0, 2));
  const before = readFileSync(fileName());
  await expect(exportTo(fileName())).resolves.toMatchObject({ added: 3, records: 5 });
  expect(readFileSync(fileName()).subarray(0, before.length)).toEqual(before);
  await expect(verify(fileName())).resolves.toMatchObject({ records: 5, signed: 5 });
  expect(eventsIn(fileName())).toEqual([1, 2, 3, 4, 5]);
});

it('goes on wherever a crash cut the file', async () => {
  await exportTo(fileName());
  const whole = readFileSync(fileName());
  const isNearNewline = (at: number): boolean => whole.subarray(Math.max(0, at - 2), at + 2).includes('\n');
  for (let length = 0; length < whole.length; length += 1) {
    // Each try waits for the disk, so only every few bytes are tried, and all where lines meet.
    if (length % 23 !== 0 && !isNearNewline(length)) continue;
    writeFileSync(fileName(), whole.subarray(0, length));
    await exportTo(fileName());
    await expect(verify(fileName())).resolves.toMatchObject({ records: 5, signed: 5 });
    expect(eventsIn(fileName())).toEqual([1, 2, 3, 4, 5]);
  }
});

it('goes on after a kill in the middle of writing', async () => {
  ensureBuilt();
  const { privatePem, id } = makeKeys();
  const keyFile = join(directory(), 'key');
  writeFileSync(keyFile, privatePem);
  const writer = startNode([
    join(__dirname, '..', 'fixtures', 'audit-writer.cjs'),
    lib(),
    fileName(),
    keyFile,
  ]);
  await until('a few megabytes', () => (statSync(fileName(), { throwIfNoEntry: false })?.size ?? 0) > 3e6);
  writer.signal('SIGKILL');
  await expect(writer.ended).resolves.toMatchObject({ code: null, err: '' });
  const file = await openAuditFile(fileName(), { ...owner, key: readPrivateKey(privatePem, 'x') });
  await file.finish(AT);
  const { records, signed } = await verifyFile(fileName(), { key: id });
  expect(signed).toBe(records);
  expect(eventsIn(fileName())).toEqual(Array.from({ length: records }, (_, at) => at + 1));
});

it('never signs what somebody without the key has appended, nor believes it', async () => {
  await exportTo(fileName(), all.slice(0, 2));
  const lines = readFileSync(fileName(), 'utf8').trimEnd().split('\n');
  const head = readLine(lines.at(-1) ?? '');
  if (typeof head === 'string') throw new Error(head);
  const chain = continueChain({ next: head.n + 1, hash: head.hash });
  const forged = [
    record(3, { type: 'decision', facts: { call: '6.6' } }),
    record(99, { type: 'turn_ended' }),
  ];
  appendFileSync(fileName(), forged.map((one) => `${chain.append(one)}\n`).join(''));
  await expect(verify(fileName())).resolves.toMatchObject({ records: 4, signed: 2 });
  const file = await openAuditFile(fileName(), owner);
  expect(file.known.hasWhole('run-1')).toBe(false);
  for (const one of all) await file.add(one);
  await expect(file.finish(AT)).resolves.toMatchObject({ added: 3, dropped: 2, records: 5 });
  expect(readFileSync(fileName(), 'utf8')).not.toContain('6.6');
  expect(eventsIn(fileName())).toEqual([1, 2, 3, 4, 5]);
});

it('starts anew where nothing is signed yet', async () => {
  writeFileSync(fileName(), `${fileOf([record(1), record(2)], { key, end: false }).join('\n')}\n`);
  await expect(exportTo(fileName())).resolves.toMatchObject({ added: 5, dropped: 2, records: 5 });
  await expect(verify(fileName())).resolves.toMatchObject({ records: 5, signed: 5 });
});

it('signs on the way, so that a crash loses little', async () => {
  const long = Array.from({ length: 4000 }, (_, event) => record(event));
  await exportTo(fileName(), long);
  const text = readFileSync(fileName(), 'utf8');
  expect(text.match(/"type":"head"/g)?.length).toBeGreaterThan(1);
  writeFileSync(fileName(), text.slice(0, -100));
  const file = await openAuditFile(fileName(), owner);
  await file.finish(AT);
  const { records, signed } = await verify(fileName());
  expect(signed).toBe(records);
  expect(records).toBeGreaterThan(1000);
});

it('signs nothing where reading was given up, and goes on next time', async () => {
  const file = await openAuditFile(fileName(), owner);
  await file.add(record(1));
  await file.abandon();
  await expect(verify(fileName())).resolves.toMatchObject({ signed: 0 });
  await expect(exportTo(fileName())).resolves.toMatchObject({ records: 5 });
});

it.each([
  ['somebody else’s text', 'hello'],
  ['text of several lines', 'a\nb\n'],
  ['one line of JSON', '{"a":1}\n'],
])('leaves a file with %s as it is', async (_what, text) => {
  writeFileSync(fileName(), text);
  await expect(exportTo(fileName())).rejects.toMatchObject({ code: 'audit_broken' });
  expect(readFileSync(fileName(), 'utf8')).toBe(text);
});

it('does not sign what was changed', async () => {
  await exportTo(fileName(), all.slice(0, 3));
  const changed = readFileSync(fileName(), 'utf8').replace('approved', 'modified');
  writeFileSync(fileName(), changed);
  await expect(exportTo(fileName())).rejects.toMatchObject({ code: 'audit_broken', data: { index: 1 } });
  expect(readFileSync(fileName(), 'utf8')).toBe(changed);
});

it.each([
  ['another key', { key: newKey() }, 'audit_broken'],
  ['another namespace', { namespace: 'other' }, 'usage'],
])('does not go on with a file of %s', async (_what, other, code) => {
  await exportTo(fileName());
  await expect(openAuditFile(fileName(), { ...owner, ...other })).rejects.toMatchObject({ code });
});

it.each([
  ['a folder that is not there', () => join(directory(), 'no', 'audit.jsonl')],
  ['a folder', directory],
])('says that %s cannot be written', async (_what, path) => {
  await expect(openAuditFile(path(), owner)).rejects.toMatchObject({
    code: 'file_failed',
    message: expect.stringContaining(path()),
  });
});

const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (text: string): string => {
  const file = join(folder, 'audit.jsonl');
  writeFileSync(file, text);
  return file;
};

it.each<[string, string]>([
  ['an empty file', ''],
  ['text', 'hello\n'],
  ['JSON that is not a record', '{"a":1}\n'],
])('%s holds no head and does not verify', async (_, text) => {
  await expect(readHead(written(text))).rejects.toMatchObject({ code: 'audit_broken' });
  await expect(verifyFile(written(text), {})).rejects.toMatchObject({
    code: 'audit_broken',
  });
});

it('a file that is not there is a failed read', async () => {
  await expect(readHead(join(folder, 'none'))).rejects.toMatchObject({ code: 'file_failed' });
  await expect(verifyFile(join(folder, 'none'), {})).rejects.toMatchObject({ code: 'file_failed' });
});

describe('redact-file', () => {
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

  it('never writes through a link that somebody left where the copy goes', async () => {
    writeFileSync(path('other'), 'theirs');
    symlinkSync(path('other'), path('copy'));
    await redactFile(path(), { fields: ['approver'], out: path('copy') });
    expect(readFileSync(path('other'), 'utf8')).toBe('theirs');
    expect(lstatSync(path('copy')).isFile()).toBe(true);
    expect(readdirSync(directory()).sort()).toEqual(['audit.jsonl', 'copy', 'other']);
  });

  it('can be done twice at the same time', async () => {
    const redact = () => redactFile(path(), { fields: ['approver'], out: path('copy') });
    await expect(Promise.all([redact(), redact()])).resolves.toHaveLength(2);
    expect(readdirSync(directory()).sort()).toEqual(['audit.jsonl', 'copy']);
    await expect(verifyFile(path('copy'), {})).resolves.toMatchObject({ redacted: 3 });
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
    ['is not in the file', 'turn-3'],
    ['is only the beginning of an id', 'turn-'],
    ['is empty', ''],
  ])('refuses a turn that %s, and leaves the file as it is', async (_what, turn) => {
    const before = readFileSync(path());
    await expect(redactFile(path(), { fields: ['approver'], turn, out: path() })).rejects.toMatchObject({
      code: 'not_found',
      message: `there is no turn ${turn} in ${path()}`,
      data: { turn },
    });
    expect(readFileSync(path())).toEqual(before);
    expect(readdirSync(directory())).toEqual(['audit.jsonl']);
  });

  it('writes no copy for a turn that is not in the file', async () => {
    const copy = { fields: ['approver'], turn: 'turn-3', out: path('copy.jsonl') } as const;
    await expect(redactFile(path(), copy)).rejects.toMatchObject({ code: 'not_found' });
    expect(readdirSync(directory())).toEqual(['audit.jsonl']);
  });

  it('takes nothing more out of a turn the second time', async () => {
    const once = { fields: ['approver'], turn: 'turn-2', out: path() } as const;
    await redactFile(path(), once);
    await expect(redactFile(path(), once)).resolves.toMatchObject({ taken: 0, redacted: 1 });
  });

  it.each([
    ['was changed', () => lines.join('\n').replace('approved', 'modified'), 'audit_broken'],
    ['was cut', () => lines.join('\n').slice(0, -10), 'audit_broken'],
    ['is something else', () => 'hello\n', 'audit_broken'],
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
});
