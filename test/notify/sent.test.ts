import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeStateFolder, openSent } from '../../src/notify/sent';
import { scratchDirectory } from '../support/scratch';
import { NOW } from '../cli/support';

const directory = scratchDirectory();
const file = (): string => join(directory(), 'deep', 'notices.json');

beforeEach(() => makeStateFolder(file()));

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
    await expect(makeStateFolder(join(directory(), 'file', 'notices.json'))).rejects.toMatchObject({
      code: 'config_invalid',
    });
  });

  it('loses nothing of several that come at once', async () => {
    const sent = await openSent(file());
    const keys = ['a', 'b', 'c', 'd'];
    await Promise.all(keys.map((key) => sent.add(key, NOW)));
    const again = await openSent(file());
    expect(keys.every((key) => again.has(key))).toBe(true);
  });
});
