import { PASSKEY_WORD, type Passkey, readPasskeyLine } from './passkeys/passkey';
import type { ReadFile } from './read-file';
import { readKeyLine, type SignerKey } from './ssh-key';
import { SIGNATURE_NAMESPACE } from './ssh-signature';
import type { Complain, YamlPath } from './yaml';

/** The keys that may sign, of people and of web inboxes. */
export interface CheckedKeys {
  people: ReadonlyMap<string, readonly SignerKey[]>;
  inbox: readonly SignerKey[];
}

/** Reads all keys. A key belongs to one person only, or to web inboxes. */
export function checkKeys({ content }: ReadFile, complain: Complain): CheckedKeys {
  const owners = new Map<string, string>();
  const readAll = (lines: readonly string[], owner: string, place: YamlPath): SignerKey[] =>
    lines.flatMap((line, index) => {
      const read = readKeyLine(line);
      const path = [...place, index];
      if (!read.ok) {
        complain(path, read.why, read.at);
        return [];
      }
      const { key } = read;
      const other = owners.get(key.fingerprint);
      if (other === owner) complain(path, 'this key is listed twice');
      else if (other !== undefined) complain(path, `this key is that of ${other}, too: one is one person's`);
      owners.set(key.fingerprint, owner);
      return key;
    });
  const people = new Map(
    Object.entries(content.people).map(([name, { keys }]) => [
      name,
      readAll(keys, name, ['people', name, 'keys']),
    ]),
  );
  for (const [name, keys] of people)
    for (const [index, { namespaces }] of keys.entries())
      if (namespaces?.includes(SIGNATURE_NAMESPACE) === false)
        complain(
          ['people', name, 'keys', index],
          `this key may not sign: its namespaces lack ${SIGNATURE_NAMESPACE}`,
        );
  const inbox = readAll(content.inboxKeys, 'the web inbox', ['inboxKeys']);
  for (const [index, { type }] of inbox.entries())
    if (type !== 'ssh-ed25519')
      complain(['inboxKeys', index], 'the key of a web inbox is an ssh-ed25519 key');
  return { people, inbox };
}

/** Keys that are revoked. They do not count, even if a person or a web inbox still lists them. */
export interface RevokedKeys {
  ssh: readonly SignerKey[];
  passkeys: readonly Passkey[];
  /**
   * The time from which a key is revoked, as it is written in the file. `mark` is the fingerprint of a key or the id of
   * a passkey. Undefined: the key is not revoked.
   */
  since(mark: string): string | undefined;
}

/** No key is revoked. */
export const NONE_REVOKED: RevokedKeys = { ssh: [], passkeys: [], since: () => undefined };

/**
 * Reads the keys that are revoked. The file may still list such a key for a person, because revoking must take effect
 * immediately.
 */
export function checkRevoked({ content }: ReadFile, complain: Complain): RevokedKeys {
  const times = new Map<string, string>();
  const ssh: SignerKey[] = [];
  const passkeys: Passkey[] = [];
  for (const [index, { key: line, since }] of content.revoked.entries()) {
    const path = ['revoked', index, 'key'];
    const marks = marksOf(line, { ssh, passkeys });
    if ('why' in marks) {
      complain(path, marks.why, marks.at);
      continue;
    }
    if (marks.some((mark) => times.has(mark))) complain(path, 'this key is listed twice');
    for (const mark of marks) times.set(mark, since);
  }
  return { ssh, passkeys, since: (mark) => times.get(mark) };
}

function marksOf(
  line: string,
  { ssh, passkeys }: { ssh: SignerKey[]; passkeys: Passkey[] },
): string[] | { why: string; at: number } {
  if (line.startsWith(`${PASSKEY_WORD} `)) {
    const read = readPasskeyLine(line);
    if (!read.ok) return read;
    passkeys.push(read.passkey);
    return [read.passkey.id, read.passkey.fingerprint];
  }
  const read = readKeyLine(line);
  if (!read.ok) return read;
  ssh.push(read.key);
  return [read.key.fingerprint];
}
