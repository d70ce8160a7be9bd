import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openInboxKey, readInboxKey } from '../../../src/authority/signatures/inbox-key';
import { readKeyLine } from '../../../src/authority/signatures/ssh-key';
import { INBOX_NAMESPACE, verifySshSignature } from '../../../src/authority/signatures/ssh-signature';
import { type Statement, statementOf, statementText } from '../../../src/authority/signatures/statement';
import { scratchDirectory } from '../../support/scratch';
import { sshKeygen } from '../../support/ssh';
import { AT, FACTS, VOTE } from './signed';
import { needs } from '../../support/parts';

needs('ssh');

const scratch = scratchDirectory();
const keyFile = (): string => join(scratch(), 'state', 'inbox.key');

const statement = (reason = 'yes'): Statement => {
  const made = statementOf(FACTS, { ...VOTE, reason });
  if (made === undefined) throw new Error('not a statement');
  return made;
};

it('is made once, for its owner only, and the same for two web inboxes that start at once', async () => {
  const [one, other] = await Promise.all([openInboxKey(keyFile()), openInboxKey(keyFile())]);
  expect(other.line).toBe(one.line);
  expect(readInboxKey(keyFile()).fingerprint).toBe(one.fingerprint);
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  expect(one.line).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]+ countersign web inbox$/);
});

it('signs a statement, which we and ssh-keygen take with the line that it shows', async () => {
  const key = await openInboxKey(keyFile());
  const armored = key.sign(statement());
  const read = readKeyLine(key.line);
  const check = {
    ...{ armored, keys: read.ok ? [read.key] : [], requireTouch: true, moments: [AT] },
    ...{ message: Buffer.from(statementText(statement())), namespace: INBOX_NAMESPACE },
  };
  expect(verifySshSignature(check)).toMatchObject({ ok: true, fingerprint: key.fingerprint });
  expect(verifySshSignature({ ...check, namespace: 'countersign' })).toMatchObject({
    why: 'wrong_namespace',
  });
  const other = Buffer.from(statementText(statement('no')));
  expect(verifySshSignature({ ...check, message: other })).toMatchObject({ why: 'does_not_match' });
  const [allowed, file] = [join(scratch(), 'allowed'), join(scratch(), 'signature')];
  writeFileSync(allowed, `inbox ${key.line}\n`);
  writeFileSync(file, armored);
  const args = ['-Y', 'verify', '-n', INBOX_NAMESPACE, '-I', 'inbox', '-f', allowed, '-s', file];
  expect(sshKeygen(args, statementText(statement()))).toContain(
    'Good "countersign-inbox" signature for inbox',
  );
});

it('signs nothing that is not a statement', async () => {
  const key = await openInboxKey(keyFile());
  const wider = { ...statement(), extra: 1 };
  expect(() => key.sign(wider)).toThrow('extra');
});

it.each<[string, string, (file: string) => void]>([
  ['that others may read', 'it can be read or changed by others', (file) => chmodSync(file, 0o640)],
  ['without a key', 'there is no Ed25519 key in it', (file) => writeFileSync(file, 'nothing')],
  [
    'with a key of another type',
    'there is no Ed25519 key in it',
    (file) => {
      chmodSync(file, 0o600);
      sshKeygen(['-q', '-t', 'rsa', '-b', '2048', '-m', 'PKCS8', '-N', '', '-f', `${file}-rsa`]);
      writeFileSync(file, readFileSync(`${file}-rsa`));
    },
  ],
  ['that is too large', 'it is over 64 KiB', (file) => writeFileSync(file, 'x'.repeat(100_000))],
])('refuses a file %s', async (_case, why, spoil) => {
  await openInboxKey(keyFile());
  spoil(keyFile());
  for (const read of [openInboxKey, async (file: string) => readInboxKey(file)])
    await expect(read(keyFile())).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(why),
    });
});

it('refuses a link, a folder, and a place where nothing can be made', async () => {
  mkdirSync(join(scratch(), 'folder'));
  symlinkSync('somewhere', join(scratch(), 'link'));
  writeFileSync(join(scratch(), 'file'), '');
  for (const name of ['folder', 'link', 'file/key'])
    await expect(openInboxKey(join(scratch(), name))).rejects.toMatchObject({ code: 'config_invalid' });
  expect(() => readInboxKey(join(scratch(), 'none'))).toThrow('it does not exist');
});
