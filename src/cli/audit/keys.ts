import { z } from 'zod';
import type { Approvers } from '../../authority/approvers';
import type { CallFacts } from '../../authority/statement';
import type { Judge, VoteFault } from '../../authority/assurance';
import { NONE_REVOKED } from '../../authority/check-keys';
import type { RosterLine } from '../../contract/authority/roster';
import { defined } from '../../contract/defined';
import { parseJson } from '../../contract/json';

/** The line of the key with which a worker verified a signature, as the audit file carries it. */
export interface CarriedLine {
  installation: string;
  /** SHA-256 (hex) of the approvers file that the line is from. */
  fileDigest: string;
  /** Undefined: the line cannot be read. */
  line?: RosterLine;
}

/** A signed vote, with the facts that its signature is over and the key that the file carries for it. */
export interface SignedVote {
  /** The facts without the installation, which comes from an approvers file or from the carried line. */
  facts: Omit<CallFacts, 'installation'>;
  /** The vote as it is in the record. `approver` has the name that the record has. */
  vote: { approver: string };
  /** When the server recorded the vote, in milliseconds since 1970. */
  at: number;
  /** The key line that the audit file carries for the signature. Undefined: the audit file carries no key line. */
  carried?: CarriedLine | undefined;
}

/**
 * The result of judging a signature by its key.
 * - `verified`: today's approvers file lists the key for this person.
 * - `removed`: an older approvers file lists the key, and today's file no longer does.
 * - `revoked`: today's file says that the key is revoked.
 * - `carried`: only the audit file itself has the key, and no approvers file was given for comparison.
 * - `unknown_key`: no approvers file that was given has the key.
 * - `bad`: the signature is not over the recorded facts, or its key cannot be used.
 */
export type KeyVerdict =
  | { state: 'verified'; voter: string }
  | { state: 'carried'; voter: string }
  | { state: 'removed'; voter: string; why: string }
  | { state: 'revoked'; voter: string; why: string }
  | { state: 'unknown_key'; why: string }
  | { state: 'bad'; why: string };

/** Judges a signature by the files that were given, or by the line that the audit file carries. */
export type KeyJudge = (signed: SignedVote) => KeyVerdict;

/**
 * Faults that depend on the approvers file. An older file is then tried, because the key may have been valid at the
 * time.
 */
const OF_THE_FILE: readonly VoteFault[] = ['key_removed', 'unknown_person', 'wrong_origin', 'wrong_site'];

const NO_LINE =
  'the file carries no key for it: no worker says that it started a call by this vote; name --approvers <path>';
const UNREADABLE_LINE = 'the key that the file carries for it cannot be read';
const ONLY_CARRIED =
  'it holds by the key that the audit file carries, and none of the approvers files has that key';

/** Reads the files that keys are compared with. @throws CountersignError as `loadApprovers`. */
export async function loadFiles(paths: readonly string[]): Promise<Approvers[]> {
  if (paths.length === 0) return [];
  // Loaded here, so that no other command waits for YAML and CEL.
  const { loadApprovers } = await import('../../authority/approvers.js');
  return Promise.all(paths.map((path) => loadApprovers(path)));
}

/**
 * Makes a judge of signatures. `files`: today's approvers file first, then older ones. Without files, only the key
 * lines in the audit file are used.
 */
export async function keyJudge(files: readonly Approvers[]): Promise<KeyJudge> {
  // Loaded here, so that no other command waits for these modules.
  const { assuranceOf, VOTE_FAULTS } = await import('../../authority/assurance.js');
  const { approversOfLine } = await import('../../authority/roster.js');
  const assure: Assure = ({ facts, vote, at }, approvers) => {
    const { installation } = approvers;
    const voter = approvers.personOf(vote.approver) ?? vote.approver;
    // The vote is judged at the time of the decision. A key that has expired since then does not invalidate the vote.
    const judge = { facts: { ...facts, installation }, approvers, now: at };
    const judged = assuranceOf({ ...vote, approver: voter }, judge);
    if (!judged.ok) return { ...judged, words: VOTE_FAULTS[judged.why] };
    return { ok: true, voter, mark: judged.fingerprint ?? '' };
  };
  const byCarried = (signed: SignedVote, { line, installation }: CarriedLine): KeyVerdict => {
    const own = line && approversOfLine(line);
    if (own === undefined) return { state: 'bad', why: UNREADABLE_LINE };
    const judged = assure(signed, { ...own, installation });
    if (judged.ok) return { state: 'carried', voter: judged.voter };
    return { state: 'bad', why: `by the key that the file carries for it: ${judged.words}` };
  };
  const [today, ...older] = files;
  return (signed) => {
    const carried = signed.carried && byCarried(signed, signed.carried);
    if (today === undefined) return carried ?? { state: 'unknown_key', why: NO_LINE };
    if (carried?.state === 'bad') return carried;
    const verdict = byFiles(assure, signed, { today, older });
    const source = files.find(({ digest }) => digest === signed.carried?.fileDigest);
    if (verdict.state !== 'unknown_key' || source === undefined) return verdict;
    return { state: 'bad', why: `the file carries a key that ${source.file}, which it names, does not have` };
  };
}

/** Judges a signature by an approvers file, or by data in its place. */
type Assure = (signed: SignedVote, by: Judge['approvers'] & { installation: string }) => Assured;
type Assured =
  | { ok: true; voter: string; /** Names the key. */ mark: string }
  | { ok: false; why: VoteFault; words: string };

interface Files {
  today: Approvers;
  older: readonly Approvers[];
}

function byFiles(assure: Assure, signed: SignedVote, files: Files): KeyVerdict {
  const { today, older } = files;
  const judged = assure(signed, today);
  if (judged.ok) return { state: 'verified', voter: judged.voter };
  if (judged.why === 'key_revoked') return byRevoked(assure, signed, files);
  if (!OF_THE_FILE.includes(judged.why)) return { state: 'bad', why: judged.words };
  for (const one of older) {
    const then = assure(signed, one);
    if (!then.ok) continue;
    const { voter } = then;
    return { state: 'removed', voter, why: `${one.file} lists its key as one of ${voter}; today's does not` };
  }
  return { state: 'unknown_key', why: signed.carried === undefined ? judged.words : ONLY_CARRIED };
}

/** Judges a signature whose key is revoked in today's file. The file does not say to whom the key belonged. */
function byRevoked(assure: Assure, signed: SignedVote, { today }: Files): KeyVerdict {
  const { ssh, passkeys, since } = today.revoked;
  const keys = { keysOf: () => ssh, passkeysOf: () => passkeys, inboxKeys: ssh, revoked: NONE_REVOKED };
  const personOf = (name: string): string => today.personOf(name) ?? name;
  const judged = assure(signed, { ...today, ...keys, personOf });
  if (!judged.ok) return { state: 'bad', why: judged.words };
  const from = since(judged.mark) ?? '';
  const when = signed.at < Date.parse(from) ? 'before' : 'since';
  return {
    state: 'revoked',
    voter: judged.voter,
    why: `its key is revoked since ${from}; this was recorded ${when} then`,
  };
}

const lineSchema = z.object({
  person: z.string(),
  mail: z.string().optional(),
  groups: z.array(z.string()).default([]),
  line: z.string(),
  site: z.object({ rpId: z.string(), origins: z.array(z.string()) }).optional(),
});

/** Reads the key line of a record. */
export function readCarried(
  facts: { decisionId: string; installation: string; fileDigest: string },
  text: string | undefined,
): CarriedLine {
  const { decisionId, installation, fileDigest } = facts;
  const { data } = lineSchema.safeParse(parseJson(text ?? ''));
  if (data === undefined) return { installation, fileDigest };
  const { mail, site, ...rest } = data;
  return { installation, fileDigest, line: { decisionId, ...rest, ...defined({ mail, site }) } };
}
