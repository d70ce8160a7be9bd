import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type { Approvers } from '../authority/rules/approvers-file';
import type { SignedCallFacts } from '../authority/signatures/statement';
import type { Judge, VoteFault } from '../authority/signatures/vote-signature';
import { NONE_REVOKED } from '../authority/rules/check-keys';
import type { RosterLine } from '../contract/roster';
import { CountersignError } from '../contract/errors';
import { parseJson } from '../contract/json';
import { readKeyFile } from '../encryption/keys';
import { readPrivateKey, readAuditKeyId } from './file-key';
import { frameOf, type ReadLine } from './read';
import { userStateDir } from '../system/files';
import { readTextFile } from '../system/named-files';
import { isTakenOut, valueOf } from './lines';
import type { Assurance } from '../contract/authority';

/** The key line with which a worker verified a signature, as the audit file carries the line. */
interface CarriedLine {
  installation: string;
  /** SHA-256 (hex) of the approvers file that the line is from. */
  fileDigest: string;
  /** Undefined: the line cannot be read. */
  line?: RosterLine;
}

/**
 * A signed vote, with the facts that its signature covers. The signature has to hold at the time when the server
 * recorded the vote.
 */
interface SignedVote {
  /** The facts without the installation, which comes from an approvers file or from the carried line. */
  facts: Omit<SignedCallFacts, 'installation'>;
  /** The vote as it is in the record. `approver` has the name that the record has. */
  vote: { approver: string };
  /** The time at which the signature has to hold, in milliseconds since 1970. */
  at: number;
  /** The key line that the audit file carries for the signature. Undefined: the audit file carries no key line. */
  carried?: CarriedLine;
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
  | ({ state: 'verified' } & Held)
  | ({ state: 'carried' } & Held)
  | ({ state: 'removed'; why: string } & Held)
  | ({ state: 'revoked'; why: string } & Held)
  | { state: 'unknown_key'; why: string }
  | { state: 'bad'; why: string };

/** A signature that holds. */
interface Held {
  /** Who signed, by the name in the approvers file or in the carried line. */
  voter: string;
  assurance: Assurance;
}

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

/**
 * Makes a judge of signed votes. `files`: today's approvers file first, then older ones. Without files, only the key
 * lines in the audit file are used.
 */
export async function voteKeyJudge(files: readonly Approvers[]): Promise<KeyJudge> {
  // Loaded here, so that no other command waits for these modules.
  const { assuranceOf, VOTE_FAULTS } = await import('../authority/signatures/vote-signature.js');
  const { approversOfLine } = await import('../authority/signatures/roster-lines.js');
  const assure: Assure = ({ facts, vote, at }, approvers) => {
    const { installation } = approvers;
    const voter = approvers.personOf(vote.approver) ?? vote.approver;
    // The vote is judged at the time of the decision. A key that has expired since the decision does not invalidate the
    // vote.
    const judge = { facts: { ...facts, installation }, approvers, now: at };
    const judged = assuranceOf({ ...vote, approver: voter }, judge);
    if (!judged.ok) return { ...judged, words: VOTE_FAULTS[judged.why] };
    const { assurance, fingerprint: mark = '' } = judged;
    return { ok: true, voter, assurance, mark };
  };
  const byCarried = (signed: SignedVote, { line, installation }: CarriedLine): KeyVerdict => {
    const own = line && approversOfLine(line);
    if (own === undefined) return { state: 'bad', why: UNREADABLE_LINE };
    const judged = assure(signed, { ...own, installation });
    if (judged.ok) return held('carried', judged);
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
  ({ ok: true; /** Names the key. */ mark: string } & Held) | { ok: false; why: VoteFault; words: string };

function held<State extends string>(state: State, { voter, assurance }: Held): { state: State } & Held {
  return { state, voter, assurance };
}

interface Files {
  today: Approvers;
  older: readonly Approvers[];
}

function byFiles(assure: Assure, signed: SignedVote, files: Files): KeyVerdict {
  const { today, older } = files;
  const judged = assure(signed, today);
  if (judged.ok) return held('verified', judged);
  if (judged.why === 'key_revoked') return byRevoked(assure, signed, files);
  if (!OF_THE_FILE.includes(judged.why)) return { state: 'bad', why: judged.words };
  for (const one of older) {
    const then = assure(signed, one);
    if (!then.ok) continue;
    const { voter } = then;
    return {
      ...held('removed', then),
      why: `${one.file} lists its key as one of ${voter}; today's does not`,
    };
  }
  return { state: 'unknown_key', why: signed.carried === undefined ? judged.words : ONLY_CARRIED };
}

/** Judges a signature whose key is revoked in today's file. The file does not say to whom the key belonged. */
function byRevoked(assure: Assure, signed: SignedVote, { today }: Files): KeyVerdict {
  const { ssh, passkeys, since } = today.revoked;
  const keys = { keysOf: () => ssh, passkeysOf: () => passkeys, inboxKeys: ssh, revoked: NONE_REVOKED };
  const personOf = (name: string) => today.personOf(name) ?? name;
  const judged = assure(signed, { ...today, ...keys, personOf });
  if (!judged.ok) return { state: 'bad', why: judged.words };
  const from = since(judged.mark) ?? '';
  const when = signed.at < Date.parse(from) ? 'before' : 'since';
  return {
    ...held('revoked', judged),
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

/** The key line that the file carries for a signature. `gone`: the line was taken out. */
export type Carried = CarriedLine | 'gone';

/** The key line in a record. Undefined: the record never had one. */
export function carriedIn(line: ReadLine): Carried | undefined {
  if (!line.sealed.has('roster')) return undefined;
  if (isTakenOut(line, 'roster')) return 'gone';
  const { decisionId, ...from } = source.safeParse(frameOf(line.body)).data ?? NO_SOURCE;
  const { data } = lineSchema.safeParse(parseJson(valueOf(line, 'roster') ?? ''));
  if (data === undefined) return from;
  const { mail, site, ...rest } = data;
  return { ...from, line: { decisionId, ...rest, mail, site } };
}

const source = z.object({ decisionId: z.string(), installation: z.string(), fileDigest: z.string() });
const NO_SOURCE = { decisionId: '', installation: '', fileDigest: '' };

/** The file of the signing key, unless the user names another file. It is outside of projects, so nobody commits it. */
export function auditKeyFile(env: NodeJS.ProcessEnv): string {
  return join(userStateDir(env), 'audit.key');
}
/** The environment variable that names the file of the signing key. */
const KEY_VARIABLE = 'COUNTERSIGN_AUDIT_KEY_FILE';

/**
 * The key that signs audit files.
 *
 * @throws CountersignError `config_invalid`, also for a file that others can read.
 */
export function readSigningKey(named: string | undefined, env: NodeJS.ProcessEnv): KeyObject {
  const path = named ?? (env[KEY_VARIABLE] || auditKeyFile(env));
  return readPrivateKey(readGuarded(path), path);
}

function readGuarded(path: string) {
  try {
    return readKeyFile(path);
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    const hint =
      error.cause !== undefined
        ? 'countersign audit keys makes one; name another with --key'
        : `The signing key has to be a file of your own that only you can read: chmod 600 ${path}`;
    throw new CountersignError('config_invalid', error.message, { hint, cause: error });
  }
}

/**
 * The id of a public key, given as a file or as its 64 hex digits.
 *
 * @throws CountersignError `config_invalid`, `file_failed`.
 */
export async function readPinnedKey(given: string): Promise<string> {
  const isId = /^[0-9a-f]{64}$/i.test(given);
  return readAuditKeyId(isId ? given : await readTextFile(given), given);
}
