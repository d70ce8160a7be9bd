import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { readPinnedKey, readSigningKey } from '../../src/audit/keys';
import { keyId, makeKeys } from '../../src/audit/file-key';

const folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
const made = makeKeys();
const file = join(folder, 'own.key');
writeFileSync(file, made.privatePem, { mode: 0o600 });
writeFileSync(`${file}.pub`, made.publicPem);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the signing key', () => {
  it.each<[string, string | undefined, NodeJS.ProcessEnv]>([
    ['a named file', file, {}],
    ['the environment', undefined, { COUNTERSIGN_AUDIT_KEY_FILE: file }],
    ['a named file before the environment', file, { COUNTERSIGN_AUDIT_KEY_FILE: 'none' }],
  ])('comes from %s', (_, named, env) => {
    expect(keyId(readSigningKey(named, env))).toBe(made.id);
  });

  it('is refused where others can read it, with what to do', () => {
    const open = join(folder, 'open.key');
    writeFileSync(open, made.privatePem);
    chmodSync(open, 0o644);
    expect(() => readSigningKey(open, {})).toThrow(
      expect.objectContaining({ code: 'config_invalid', hint: expect.stringContaining(`chmod 600 ${open}`) }),
    );
  });

  it('is refused where there is none, with how to make one', () => {
    expect(() => readSigningKey(join(folder, 'none'), {})).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        hint: expect.stringContaining('countersign audit keys'),
      }),
    );
  });
});

describe('a pinned key', () => {
  it.each([
    ['a file', () => `${file}.pub`],
    ['its digits', () => made.id],
  ])('is named by %s', async (_, given) => {
    expect(await readPinnedKey(given())).toBe(made.id);
  });

  it('that is not there is a failed read', async () => {
    await expect(readPinnedKey(join(folder, 'none.pub'))).rejects.toMatchObject({ code: 'file_failed' });
  });
});
