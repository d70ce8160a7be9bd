import { PASSKEY_WORD, type Passkey, type PasskeySite, readPasskeyLine } from '../signatures/passkey';
import type { FileContent, ReadFile } from './approvers-schema';
import { readKeyLine, type SignerKey } from '../signatures/ssh-key';
import { SIGNATURE_NAMESPACE } from '../signatures/ssh-signature';
import type { Complain, YamlPath } from '../../system/yaml';

/** Reads all keys. A key belongs to one person only, or to web inboxes. */
export function checkKeys({ content }: ReadFile, complain: Complain) {
  const claim = makeClaims('key');
  const readAll = (lines: readonly string[], owner: string, place: YamlPath) =>
    lines.flatMap((line, index) => {
      const read = readKeyLine(line);
      const path = [...place, index];
      if (!read.ok) {
        complain(path, read.why, read.at);
        return [];
      }
      const { key } = read;
      const why = claim(key.fingerprint, owner);
      if (why !== undefined) complain(path, why);
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

/** Makes a function that notes whose key has a mark, such as its fingerprint. It says why if the key is already somebody's. */
function makeClaims(what: 'key' | 'passkey'): (mark: string, by: string) => string | undefined {
  const owners = new Map<string, string>();
  return (mark, by) => {
    const other = owners.get(mark);
    owners.set(mark, by);
    if (other === undefined) return undefined;
    return other === by
      ? `this ${what} is listed twice`
      : `this ${what} is that of ${other}, too: one is one person's`;
  };
}

/** The passkeys of people, and the web inbox where they are used. */
export interface CheckedPasskeys {
  people: ReadonlyMap<string, readonly Passkey[]>;
  /** Absent: the file names no site, so nobody has a passkey. */
  site?: PasskeySite;
}

/** Reads all passkeys. A passkey belongs to one person only. */
export function checkPasskeys({ content }: ReadFile, complain: Complain): CheckedPasskeys {
  const claim = makeClaims('passkey');
  const people = new Map(
    Object.entries(content.people).map(([name, { passkeys }]) => [
      name,
      passkeys.flatMap((line, index) => {
        const path = ['people', name, 'passkeys', index];
        const read = readPasskeyLine(line);
        if (!read.ok) {
          complain(path, read.why, read.at);
          return [];
        }
        const { passkey } = read;
        const taken = [claim(`id ${passkey.id}`, name), claim(passkey.fingerprint, name)];
        const why = taken.find((one) => one !== undefined);
        if (why !== undefined) complain(path, why);
        return passkey;
      }),
    ]),
  );
  return { people, site: siteIn(content, complain) };
}

function siteIn({ rpId, origins, people }: FileContent, complain: Complain): PasskeySite | undefined {
  if (rpId !== undefined && origins !== undefined) {
    for (const [index, origin] of origins.entries())
      if (!isOriginOf(origin, rpId))
        complain(
          ['origins', index],
          `'${origin}' is not an address of ${rpId}: write https://, the name and its port only`,
        );
    return { rpId, origins };
  }
  const missing = rpId === undefined ? '`rpId`' : '`origins`';
  if (rpId !== undefined || origins !== undefined)
    complain([rpId === undefined ? 'origins' : 'rpId'], `${missing} is missing: passkeys need both`);
  for (const [name, { passkeys }] of Object.entries(people))
    if (passkeys.length > 0 && rpId === undefined && origins === undefined)
      complain(['people', name, 'passkeys'], 'passkeys need `rpId` and `origins` of the web inbox');
  return undefined;
}

/**
 * Whether a passkey of this domain can be used at an address. Browsers accept a passkey over https at its domain and
 * the subdomains. At localhost they also accept http.
 */
function isOriginOf(origin: string, rpId: string) {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  const { protocol, hostname } = url;
  const isBelow = hostname === rpId || hostname.endsWith(`.${rpId}`);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && hostname === 'localhost');
  return url.origin === origin && isBelow && isSafe;
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
