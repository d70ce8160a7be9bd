import type { RosterLine } from '../contract/authority/roster';
import { defined } from '../contract/defined';
import type { Approvers } from './approvers';
import type { Judge } from './assurance';
import { PASSKEY, readPasskeyLine } from './passkeys/passkey';
import { NONE_REVOKED } from './check-keys';
import { readKeyLine } from './ssh-key';

/** A signature that counts. */
interface Proven {
  decisionId: string;
  /** The voter's name in the file. */
  voter: string;
  fingerprint: string;
}

/** The line of the key with which a signature was verified. Undefined: the file has no line for that key. */
export function rosterLine(
  file: Approvers,
  { decisionId, voter, fingerprint }: Proven,
): RosterLine | undefined {
  const isIt = (key: { fingerprint: string }): boolean => key.fingerprint === fingerprint;
  const passkey = file.passkeysOf(voter).find(isIt);
  const line = (file.keysOf(voter).find(isIt) ?? passkey ?? file.inboxKeys.find(isIt))?.line;
  if (line === undefined) return undefined;
  const mail = file.people.find(({ name }) => name === voter)?.mail;
  const site = passkey === undefined ? undefined : file.passkeySite;
  return { decisionId, person: voter, groups: file.groupsOf(voter), line, ...defined({ mail, site }) };
}

/**
 * The parts of an approvers file that are needed to judge signatures, for one person with one key. Undefined: the line
 * cannot be read.
 */
export function approversOfLine({ person, mail, line, site }: RosterLine): Judge['approvers'] | undefined {
  const names = [person, mail].map((name) => name?.toLowerCase());
  const none: Judge['approvers'] = {
    personOf: (name) => (names.includes(name.toLowerCase()) ? person : undefined),
    keysOf: () => [],
    passkeysOf: () => [],
    ownerOf: () => undefined,
    ownerOfPasskey: () => undefined,
    inboxKeys: [],
    passkeySite: site,
    revoked: NONE_REVOKED,
  };
  if (line.startsWith(`${PASSKEY} `)) {
    const read = readPasskeyLine(line);
    return read.ok ? { ...none, passkeysOf: () => [read.passkey] } : undefined;
  }
  const read = readKeyLine(line);
  return read.ok ? { ...none, keysOf: () => [read.key], inboxKeys: [read.key] } : undefined;
}
