import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InboxItem } from '../../src/client';
import { makeFolder, noticesOf, openSent } from '../../src/cli/notices';
import { AT, inboxItem, NOW } from './support';
import { scratchDirectory } from '../support/scratch';

const HOUR = 3_600_000;
const item = (extra: Partial<InboxItem> = {}): InboxItem =>
  inboxItem({ deadline: new Date(NOW + 2 * HOUR).toISOString(), ...extra });
const types = (items: InboxItem[], now = NOW): string[] =>
  noticesOf(items, { now, beforeMs: HOUR }).map(({ type }) => type);
const ids = (...items: InboxItem[]): string[] =>
  noticesOf(items, { now: NOW, beforeMs: 9 * HOUR }).map(({ id }) => id);

describe('the notices of an inbox', () => {
  it.each<[string, InboxItem, number, string[]]>([
    ['a request', item(), NOW, ['request.opened']],
    ['one that expires soon', item(), NOW + HOUR, ['request.opened', 'deadline.near']],
    ['one whose time is over', item(), NOW + 5 * HOUR, ['request.opened', 'deadline.near']],
    ['one that never expires', item({ deadline: null }), NOW + 5 * HOUR, ['request.opened']],
    ['a call in doubt', item({ kind: 'in_doubt', deadline: null }), NOW, ['call.in_doubt']],
  ])('%s', (_name, one, now, expected) => {
    expect(types([one], now)).toEqual(expected);
  });

  it('carries what the inbox has, and not the key of the call', () => {
    const { callKey: _, ...data } = item();
    expect(noticesOf([item()], { now: NOW, beforeMs: 0 })).toEqual([
      { id: expect.stringMatching(/^msg_[0-9a-f]{32}$/), type: 'request.opened', timestamp: AT, data },
    ]);
  });

  it('is the same, word for word, however often it is sent', () => {
    const send = (now: number): string => JSON.stringify(noticesOf([item()], { now, beforeMs: HOUR })[0]);
    expect(send(NOW)).toBe(send(NOW + HOUR));
  });

  it('has another id for each thing that happened', () => {
    const all = ids(
      item(),
      item({ turn: 't-2' }),
      item({ callId: '1.2' }),
      item({ callKey: 'anew' }),
      item({ kind: 'in_doubt' }),
      item({ since: '2026-11-21T12:00:01.000Z' }),
    );
    expect(new Set(all).size).toBe(all.length);
  });
});

const directory = scratchDirectory();
const file = (): string => join(directory(), 'deep', 'notices.json');

beforeEach(() => makeFolder(file()));

describe('the record of what was sent', () => {
  it('is on disk before anything else happens, for its owner only', async () => {
    const sent = await openSent(file());
    expect(sent.has('a')).toBe(false);
    await sent.add('a', NOW);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ version: 1, sent: { a: NOW } });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file()}.next`)).toBe(false);
    expect((await openSent(file())).has('a')).toBe(true);
  });

  it('outlives a write that was cut short', async () => {
    const sent = await openSent(file());
    await sent.add('a', NOW);
    writeFileSync(`${file()}.next`, '{"version":1,"se');
    const again = await openSent(file());
    expect(again.has('a')).toBe(true);
    await again.add('b', NOW);
    expect((await openSent(file())).has('b')).toBe(true);
  });

  it('forgets after half a year', async () => {
    const sent = await openSent(file());
    await sent.add('old', NOW - 200 * 24 * 3_600_000);
    await sent.add('new', NOW);
    expect([sent.has('old'), sent.has('new')]).toEqual([false, true]);
  });

  it.each(['', 'no JSON', '[]', '{"version":2,"sent":{}}'])('is never guessed from %j', async (text) => {
    writeFileSync(file(), text);
    await expect(openSent(file())).rejects.toMatchObject({
      code: 'config_invalid',
      hint: expect.any(String),
    });
  });

  it('needs a folder', async () => {
    writeFileSync(join(directory(), 'file'), '');
    await expect(makeFolder(join(directory(), 'file', 'notices.json'))).rejects.toMatchObject({
      code: 'config_invalid',
    });
  });
});
