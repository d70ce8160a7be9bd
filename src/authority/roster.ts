import { personIn } from '../contract/authority/authority';
import type { Roster, RosterAway, RosterLine, RosterPerson } from '../contract/authority/roster';
import type { Away } from '../contract/control/away';
import { defined } from '../contract/defined';
import type { Approvers } from './approvers';
import type { Judge } from './vote-signature';
import { PASSKEY_WORD, readPasskeyLine } from './passkeys/passkey';
import { NONE_REVOKED } from './check-keys';
import { readKeyLine } from './ssh-key';

/** The out-of-office that a vote in somebody's place rests on. */
export interface CountedAway {
  entry: Away;
  /** The fingerprint of the key that signed the entry. Absent: nobody signed the entry. */
  fingerprint?: string;
}

/** A vote that counted, with what a worker found about it. */
export interface CountedVote {
  decisionId: string;
  /** The voter's name in the file. */
  voter: string;
  /** The fingerprint of the key that signed the vote. Undefined: nobody signed the vote. */
  fingerprint: string | undefined;
  /** The out-of-office that the vote rests on. Undefined: the vote rests on none. */
  away: CountedAway | undefined;
}

/** The lines and entries by which a worker checked votes. Undefined: no vote is signed or in somebody's place. */
export function rosterOf(file: Approvers, votes: readonly CountedVote[]): Roster | undefined {
  const lines = votes.flatMap((vote) => rosterLine(file, vote) ?? []);
  const away = votes.flatMap((vote) => rosterAway(file, vote) ?? []);
  if (lines.length === 0 && away.length === 0) return undefined;
  const { installation, digest: fileDigest } = file;
  return { installation, fileDigest, lines, ...(away.length === 0 ? {} : { away }) };
}

function rosterAway(file: Approvers, { decisionId, voter, away }: CountedVote): RosterAway | undefined {
  if (away === undefined) return undefined;
  const { entry, fingerprint } = away;
  const person = file.personOf(entry.from) ?? entry.from;
  const key = rosterLine(file, { decisionId, voter: person, fingerprint });
  return {
    decisionId,
    entry,
    from: rosterPerson(file, person),
    to: rosterPerson(file, voter),
    ...defined({ key }),
  };
}

function rosterPerson({ people }: Approvers, person: string): RosterPerson {
  return { person, ...defined({ mail: people.find(({ name }) => name === person)?.mail }) };
}

/** The line of the key with which a signature was verified. Undefined: the file has no line for that key. */
function rosterLine(
  file: Approvers,
  { decisionId, voter, fingerprint }: Omit<CountedVote, 'away'>,
): RosterLine | undefined {
  if (fingerprint === undefined) return undefined;
  const isIt = (key: { fingerprint: string }): boolean => key.fingerprint === fingerprint;
  const passkey = file.passkeysOf(voter).find(isIt);
  const line = (file.keysOf(voter).find(isIt) ?? passkey ?? file.inboxKeys.find(isIt))?.line;
  if (line === undefined) return undefined;
  const site = passkey === undefined ? undefined : file.passkeySite;
  const groups = file.groupsOf(voter);
  return { decisionId, ...rosterPerson(file, voter), groups, line, ...defined({ site }) };
}

/**
 * The parts of an approvers file that are needed to judge signatures, for one person with one key. Undefined: the line
 * cannot be read.
 */
export function approversOfLine({ person, mail, line, site }: RosterLine): Judge['approvers'] | undefined {
  const signer = { name: person, ...defined({ mail }) };
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
