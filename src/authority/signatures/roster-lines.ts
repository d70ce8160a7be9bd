import { personIn } from '../votes/voters';
import type { Roster, RosterLine } from '../../contract/roster';
import type { Approvers } from '../rules/approvers-file';
import type { Judge } from './vote-signature';
import { PASSKEY_WORD, readPasskeyLine } from './passkey';
import { NONE_REVOKED } from '../rules/check-keys';
import { readKeyLine } from './ssh-key';

/** A vote that counted, with what a worker found about it. */
export interface CountedVote {
  decisionId: string;
  /** The voter's name in the file. */
  voter: string;
  /** The fingerprint of the key that signed the vote. Undefined: nobody signed the vote. */
  fingerprint: string | undefined;
}

/** The lines by which a worker checked votes. Undefined: no vote is signed. */
export function rosterOf(file: Approvers, votes: readonly CountedVote[]): Roster | undefined {
  const lines = votes.flatMap((vote) => rosterLine(file, vote) ?? []);
  if (lines.length === 0) return undefined;
  const { installation, digest: fileDigest } = file;
  return { installation, fileDigest, lines };
}

/** The line of the key with which a signature was verified. Undefined: the file has no line for that key. */
function rosterLine(
  file: Approvers,
  { decisionId, voter, fingerprint }: CountedVote,
): RosterLine | undefined {
  if (fingerprint === undefined) return undefined;
  const isIt = (key: { fingerprint: string }) => key.fingerprint === fingerprint;
  const passkey = file.passkeysOf(voter).find(isIt);
  const line = (file.keysOf(voter).find(isIt) ?? passkey ?? file.inboxKeys.find(isIt))?.line;
  if (line === undefined) return undefined;
  const site = passkey === undefined ? undefined : file.passkeySite;
  const groups = file.groupsOf(voter);
  const mail = file.people.find(({ name }) => name === voter)?.mail;
  return { decisionId, person: voter, groups, line, mail, site };
}

/**
 * The parts of an approvers file that are needed to judge signatures, for one person with one key. Undefined: the line
 * cannot be read.
 */
export function approversOfLine({ person, mail, line, site }: RosterLine): Judge['approvers'] | undefined {
  const signer = { name: person, mail };
  const none: Judge['approvers'] = {
    personOf: (name) => personIn([signer], name),
    keysOf: () => [],
    passkeysOf: () => [],
    ownerOf: () => undefined,
    ownerOfPasskey: () => undefined,
    inboxKeys: [],
    passkeySite: site,
    revoked: NONE_REVOKED,
  };
  if (line.startsWith(`${PASSKEY_WORD} `)) {
    const read = readPasskeyLine(line);
    return read.ok ? { ...none, passkeysOf: () => [read.passkey] } : undefined;
  }
  const read = readKeyLine(line);
  return read.ok ? { ...none, keysOf: () => [read.key], inboxKeys: [read.key] } : undefined;
}
