import { z } from 'zod';
import type { Approvers } from '../authority/rules/approvers-file';
import { parseJson } from '../contract/json';
import { frameOf, type ReadLine } from './read';
import { type Carried, carriedIn, type KeyJudge, voteKeyJudge } from './keys';
import { isTakenOut, valueOf } from './lines';
import { createTally, type Remark, type SignatureState, type Tallied } from './tally';
import type { SealedField } from './format';

/** The signed fields of a decision that can be taken out of the file. */
const SIGNED_FIELDS = [
  'signature',
  'approver',
  'reason',
  'suggestion',
  'requesters',
] as const satisfies SealedField[];

const first = z.object({ namespace: z.string() });

/**
 * The results for all signatures of a file. A decision that is not proven has a signature that proves nothing. `marked`:
 * the signature holds, by a key that today's file does not have.
 */
export interface SignatureReport extends Tallied {
  /**
   * `carried`: no approvers file was given, so the signatures were checked by the keys that the audit file itself
   * carries.
   */
  keys: 'approvers' | 'carried';
  /** The number of verified signatures of each person, by keys that an approvers file lists. */
  verified: Record<string, number>;
}

/**
 * Starts a check, with the function by which a worker checks votes. `named`: approvers files, today's first. Without
 * files, the keys that the audit file carries are used.
 */
export async function createSignatureChecker(named: readonly Approvers[] = []) {
  const judge = judgeBy(await voteKeyJudge(named), named.length > 0);
  const tally = createTally();
  const verified = new Map<string, number>();
  const waiting = createWaiting();
  let namespace = '';
  const settle = ({ decision, said }: Explained) => {
    const judged = judge(decision, { namespace, carried: said && carriedIn(said) });
    tally.add(judged);
    const { state, voter } = judged;
    if ((state === 'verified' || state === 'removed') && voter !== undefined)
      verified.set(voter, (verified.get(voter) ?? 0) + 1);
  };
  return {
    /** Takes the next line, which was found to be unchanged. */
    push: (line: ReadLine) => {
      if (line.type === 'audit') namespace = first.safeParse(frameOf(line.body)).data?.namespace ?? '';
      for (const explained of waiting.push(line)) settle(explained);
    },
    finish: (): SignatureReport => {
      for (const explained of waiting.rest()) settle(explained);
      const keys = named.length > 0 ? 'approvers' : 'carried';
      return { keys, ...tally.done(), verified: Object.fromEntries(verified) };
    },
  };
}

/** A decision, and the record in which its worker says by which key it counted the vote. Absent: there is none. */
interface Explained {
  decision: ReadLine;
  said?: ReadLine;
}

const about = z.object({
  turn: z.string(),
  call: z.string().default(''),
  decisionId: z.string().optional(),
});

/** Starts without any decision. Decisions without a signature can be judged at once. */
function createWaiting() {
  const turns = new Map<string, Map<string, ReadLine>>();
  const leave = (turn: string): Explained[] => {
    const left = [...(turns.get(turn)?.values() ?? [])];
    turns.delete(turn);
    return left.map((decision) => ({ decision }));
  };
  return {
    /** Takes a line, and returns the decisions that can now be judged. */
    push: (line: ReadLine) => {
      const isVote = line.type === 'decision' || line.type === 'resolution';
      if (isVote && !line.sealed.has('signature')) return [{ decision: line }];
      if (!isVote && line.type !== 'roster' && line.type !== 'turn_ended') return [];
      const { data } = about.safeParse(frameOf(line.body));
      if (data === undefined) return isVote ? [{ decision: line }] : [];
      const { turn, call, decisionId } = data;
      if (line.type === 'turn_ended') return leave(turn);
      if (decisionId === undefined) return isVote ? [{ decision: line }] : [];
      const key = JSON.stringify([call, decisionId]);
      const ofTurn = turns.get(turn) ?? new Map<string, ReadLine>();
      const before = ofTurn.get(key);
      if (isVote) {
        turns.set(turn, ofTurn.set(key, line));
        return before === undefined ? [] : [{ decision: before }];
      }
      ofTurn.delete(key);
      return before === undefined ? [] : [{ decision: before, said: line }];
    },
    /** The decisions that still wait. */
    rest: () => [...turns.keys()].flatMap(leave),
  };
}

const text = z.string().default('');
/** The recorded facts that a vote is judged by. A missing fact makes the signature bad. */
const record = z.object({
  turn: text,
  run: text,
  call: text,
  decision: text,
  resolution: text,
  hunks: z.string().optional(),
  decisionId: text,
  agent: text,
  tool: text,
  callKey: text,
  generation: z.number().default(0),
  toolDigest: text,
  ruleDigest: text,
  argsDigest: text,
  seenDigest: text,
  signedBy: text,
  signedAt: text,
  notAfter: text,
});

interface Judged {
  state: SignatureState;
  voter?: string;
  remark?: Remark;
}

type Judge = (line: ReadLine, by: { namespace: string; carried: Carried | undefined }) => Judged;

function judgeBy(judgeKey: KeyJudge, hasFile: boolean): Judge {
  return (line, { namespace, carried }) => {
    if (!line.sealed.has('signature')) return { state: 'none' };
    const approver = valueOf(line, 'approver');
    const read = record.safeParse(frameOf(line.body));
    const { turn = '', call = '' } = read.data ?? {};
    const remarked = (state: SignatureState, why: string): Judged => ({
      state,
      remark: { n: line.n, turn, call, approver, state, why },
    });
    if (!read.success) return remarked('bad', 'the vote or its signature is not in its form');
    const gone = SIGNED_FIELDS.filter((name) => isTakenOut(line, name));
    if (gone.length > 0)
      return remarked('taken_out', `it is over values that were taken out: ${gone.join(', ')}`);
    if (carried === 'gone' && !hasFile) return remarked('taken_out', 'its key was taken out');
    const verdict = judgeKey({
      facts: { ...factsOf(line, read.data), namespace },
      vote: voteOf(line, read.data, approver ?? ''),
      at: Date.parse(line.at),
      carried: carried === 'gone' ? undefined : carried,
    });
    if (verdict.state === 'verified' || verdict.state === 'carried') return verdict;
    const judged = remarked(verdict.state, verdict.why);
    return 'voter' in verdict ? { ...judged, voter: verdict.voter } : judged;
  };
}

type Said = z.output<typeof record>;

function factsOf(line: ReadLine, { turn, run, argsDigest, ...said }: Said) {
  const { callKey, generation, agent, tool, toolDigest, seenDigest, ruleDigest } = said;
  const requesters = names.safeParse(parseJson(valueOf(line, 'requesters') ?? '')).data;
  return {
    workflowId: turn,
    runId: run,
    callKey,
    generation,
    agent,
    tool,
    toolDigest,
    seenDigest,
    effectiveDigest: argsDigest,
    ruleDigest,
    requesters,
  };
}

const names = z.array(z.string());

function voteOf(line: ReadLine, said: Said, approver: string) {
  const {
    decisionId,
    decision,
    resolution,
    hunks,
    signedBy: kind,
    signedAt: at,
    notAfter,
    seenDigest,
  } = said;
  const [armored, statement, reason, suggestion] = (
    ['signature', 'statement', 'reason', 'suggestion'] as const
  ).map((name) => valueOf(line, name));
  // Accepting no hunk is a denial.
  const word = line.type === 'resolution' ? resolution : hunks === '' ? 'denied' : decision;
  const signature = { kind, armored, statement };
  const chosen = word === 'denied' ? undefined : hunks?.split(',');
  return {
    decisionId,
    decision: word,
    reason,
    suggestion,
    approver,
    at,
    notAfter,
    seenDigest,
    signature,
    hunks: chosen,
  };
}
