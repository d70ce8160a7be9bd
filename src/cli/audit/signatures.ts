import { z } from 'zod';
import type { Approvers } from '../../authority/approvers';
import { defined } from '../../contract/defined';
import { parseJson } from '../../contract/json';
import type { SealedField } from '../../history/audit/format';
import { frameOf, type ReadLine } from '../../history/audit/read';
import { type CarriedLine, type KeyJudge, keyJudge, type KeyVerdict, readCarried } from './keys';
import { escapeText } from '../print/escape';
import { count } from '../print/format';
import type { ScreenFormat } from '../print/screen';
import type { Fact } from '../print/table';

/** The result for the signature of a decision. `taken_out`: signed values are no longer in the file. */
type SignatureState = KeyVerdict['state'] | 'none' | 'taken_out';

/** A decision, and a remark on its signature. */
interface Remark<State extends SignatureState> {
  /** The record's number in the file. */
  n: number;
  turn: string;
  call: string;
  /** Absent: the name was taken out of the file. */
  approver?: string;
  state: State;
  why: string;
}

/** A decision whose signature does not prove it. */
type Unproven = Remark<'bad' | 'unknown_key' | 'taken_out'>;
/** A decision whose signature holds, by a key that today's file does not have. */
type Marked = Remark<'removed' | 'revoked'>;

/** The results for all signatures of a file. */
export interface SignatureReport {
  /**
   * `carried`: no approvers file was given, so the signatures were checked by the keys that the audit file itself
   * carries.
   */
  keys: 'approvers' | 'carried';
  /** The number of decisions with each result. */
  counts: Record<SignatureState, number>;
  /** The number of verified signatures of each person, by keys that an approvers file lists. */
  verified: Record<string, number>;
  /** The first decisions whose key was removed or revoked. */
  marked: readonly Marked[];
  /** The first decisions whose signature proves nothing. */
  unproven: readonly Unproven[];
}

/** Checks the signatures of a file line by line. */
export interface SignatureChecker {
  /** Takes the next line, which was found to be unchanged. */
  push(line: ReadLine): void;
  finish(): SignatureReport;
}

const MOST_NAMED = 100;

/**
 * Starts a check, with the function by which a worker checks votes. `named`: approvers files, today's first. Without
 * files, the keys that the audit file carries are used.
 */
export async function createSignatureChecker(named: readonly Approvers[] = []): Promise<SignatureChecker> {
  const judge = judgeBy(await keyJudge(named), named.length > 0);
  const counts: SignatureReport['counts'] = {
    ...{ verified: 0, removed: 0, revoked: 0, carried: 0 },
    ...{ none: 0, bad: 0, unknown_key: 0, taken_out: 0 },
  };
  const verified = new Map<string, number>();
  const marked: Marked[] = [];
  const unproven: Unproven[] = [];
  const waiting = createWaiting();
  let namespace = '';
  const settle = (line: ReadLine, carried?: Carried): void => {
    const judged = judge(line, { namespace, carried });
    const { state } = judged;
    counts[state] += 1;
    if (state === 'verified' || state === 'removed')
      verified.set(judged.voter, (verified.get(judged.voter) ?? 0) + 1);
    if ((state === 'removed' || state === 'revoked') && marked.length < MOST_NAMED)
      marked.push(judged.remark);
    if (state === 'bad' || state === 'unknown_key' || state === 'taken_out')
      if (unproven.length < MOST_NAMED) unproven.push(judged.remark);
  };
  return {
    push: (line) => {
      if (line.type === 'audit') namespace = first.safeParse(frameOf(line.body)).data?.namespace ?? '';
      for (const { decision, carried } of waiting.push(line)) settle(decision, carried);
    },
    finish: () => {
      for (const decision of waiting.rest()) settle(decision);
      const keys = named.length > 0 ? 'approvers' : 'carried';
      return { keys, counts, verified: Object.fromEntries(verified), marked, unproven };
    },
  };
}

/** The key line that the file carries for a signature. `gone`: the line was taken out. */
type Carried = CarriedLine | 'gone';

/**
 * Holds each signed decision until the worker says with which key it verified the signature, or until the turn is over.
 */
interface Waiting {
  /** Takes a line, and returns the decisions that can now be judged. */
  push(line: ReadLine): { decision: ReadLine; carried?: Carried }[];
  /** The decisions that still wait. */
  rest(): ReadLine[];
}

const about = z.object({
  ...{ turn: z.string(), call: z.string().default(''), decisionId: z.string().optional() },
  ...{ installation: z.string().default(''), fileDigest: z.string().default('') },
});

function createWaiting(): Waiting {
  const turns = new Map<string, Map<string, ReadLine>>();
  const leave = (turn: string): ReadLine[] => {
    const left = [...(turns.get(turn)?.values() ?? [])];
    turns.delete(turn);
    return left;
  };
  return {
    push: (line) => {
      const isDecision = line.type === 'decision' || line.type === 'resolution';
      if (isDecision && !line.sealed.has('signature')) return [{ decision: line }];
      if (!isDecision && line.type !== 'roster' && line.type !== 'turn_ended') return [];
      const { data } = about.safeParse(frameOf(line.body));
      if (data === undefined) return isDecision ? [{ decision: line }] : [];
      const { turn, call, decisionId, ...from } = data;
      if (line.type === 'turn_ended') return leave(turn).map((decision) => ({ decision }));
      if (decisionId === undefined) return isDecision ? [{ decision: line }] : [];
      const key = JSON.stringify([call, decisionId]);
      const ofTurn = turns.get(turn) ?? new Map<string, ReadLine>();
      const before = ofTurn.get(key);
      if (isDecision) {
        turns.set(turn, ofTurn.set(key, line));
        return before === undefined ? [] : [{ decision: before }];
      }
      ofTurn.delete(key);
      const isGone = line.sealed.has('roster') && !line.open.has('roster');
      const carried = isGone ? 'gone' : readCarried({ decisionId, ...from }, valueOf(line, 'roster'));
      return before === undefined ? [] : [{ decision: before, carried }];
    },
    rest: () => [...turns.keys()].flatMap(leave),
  };
}

const first = z.object({ namespace: z.string() });
const text = z.string().default('');
/** The recorded facts by which a vote is judged. A missing fact makes the signature bad. */
const record = z.object({
  ...{ turn: text, run: text, call: text, decision: text, resolution: text, hunks: z.string().optional() },
  ...{ firstRun: text, agent: text, tool: text, callKey: text, generation: z.number().default(0) },
  ...{ toolDigest: text, ruleDigest: text, argsDigest: text, seenDigest: text },
  ...{ signedBy: text, signedAt: text, notAfter: text },
});

/** The fields that a signature is over and that can be taken out of the file. */
const SIGNED_FIELDS = [
  'signature',
  'approver',
  'place',
  'reason',
  'requesters',
] as const satisfies SealedField[];

type Judged =
  | { state: 'verified' | 'carried'; voter: string }
  | { state: 'none' }
  | { state: Marked['state']; voter: string; remark: Marked }
  | { state: Unproven['state']; remark: Unproven };

type Judge = (line: ReadLine, by: { namespace: string; carried: Carried | undefined }) => Judged;

function judgeBy(judgeKey: KeyJudge, hasFile: boolean): Judge {
  return (line, { namespace, carried }) => {
    if (!line.sealed.has('signature')) return { state: 'none' };
    const approver = valueOf(line, 'approver');
    const read = record.safeParse(frameOf(line.body));
    const { turn = '', call = '' } = read.data ?? {};
    const named = { n: line.n, turn, call, ...defined({ approver }) };
    const unproven = (state: Unproven['state'], why: string): Judged => ({
      state,
      remark: { ...named, state, why },
    });
    if (!read.success) return unproven('bad', 'the vote or its signature is not in its form');
    const gone = SIGNED_FIELDS.filter((name) => line.sealed.has(name) && !line.open.has(name));
    if (gone.length > 0)
      return unproven('taken_out', `it is over values that were taken out: ${gone.join(', ')}`);
    if (carried === 'gone' && !hasFile) return unproven('taken_out', 'its key was taken out');
    const verdict = judgeKey({
      facts: { ...factsOf(line, read.data), namespace },
      vote: voteOf(line, read.data, approver ?? ''),
      at: Date.parse(line.at),
      carried: carried === 'gone' ? undefined : carried,
    });
    if (verdict.state === 'verified' || verdict.state === 'carried') return verdict;
    if (verdict.state === 'bad' || verdict.state === 'unknown_key')
      return unproven(verdict.state, verdict.why);
    const { state, voter, why } = verdict;
    return { state, voter, remark: { ...named, state, why } };
  };
}

type Said = z.output<typeof record>;

function factsOf(line: ReadLine, { turn, firstRun, argsDigest, ...said }: Said) {
  const { callKey, generation, agent, tool, toolDigest, seenDigest, ruleDigest } = said;
  const requesters = names.safeParse(parseJson(valueOf(line, 'requesters') ?? '')).data;
  return {
    ...{ workflowId: turn, firstExecutionRunId: firstRun, callKey, generation, agent, tool },
    ...{ toolDigest, seenDigest, effectiveDigest: argsDigest, ruleDigest, requesters },
  };
}

const names = z.array(z.string());

function voteOf(line: ReadLine, said: Said, approver: string) {
  const { decision, resolution, hunks, signedBy: kind, signedAt: at, notAfter, seenDigest } = said;
  const [armored, statement, reason] = (['signature', 'statement', 'reason'] as const).map((name) =>
    valueOf(line, name),
  );
  // Accepting no hunk is a denial.
  const word = line.type === 'resolution' ? resolution : hunks === '' ? 'denied' : decision;
  const signature = { kind, armored, statement };
  const place = valueOf(line, 'place');
  const inPlaceOf = place === undefined ? undefined : parseJson(place);
  return { decision: word, reason, approver, inPlaceOf, at, notAfter, seenDigest, signature };
}

/** The value of a field. Undefined if it was taken out, or was never there. */
function valueOf({ open }: ReadLine, name: SealedField): string | undefined {
  const [, value] = pair.safeParse(parseJson(open.get(name) ?? '')).data ?? [];
  return value;
}

const pair = z.tuple([z.string(), z.string()]);

const STATES: readonly [SignatureState, string][] = [
  ['verified', 'verified'],
  ['carried', 'key in this file only'],
  ['removed', 'key removed since'],
  ['revoked', 'key revoked'],
  ['none', 'no signature'],
  ['bad', 'bad signature'],
  ['unknown_key', 'unknown key'],
  ['taken_out', 'values taken out'],
];
/** Results that are shown even if their count is 0. */
const ALWAYS: readonly SignatureState[] = ['none', 'bad', 'unknown_key', 'taken_out'];

const CARRIED_ONLY =
  'as this file carries them: whoever wrote it could have put in others; compare them with --approvers <path>';

/** The facts to print about the signatures of decisions: the counts of each result, and the people who signed. */
export function signatureFacts(
  { keys, counts, verified, marked, unproven }: SignatureReport,
  { style }: ScreenFormat,
): Fact[] {
  const own: SignatureState = keys === 'approvers' ? 'verified' : 'carried';
  const shown = STATES.filter(([state]) => state === own || ALWAYS.includes(state) || counts[state] > 0);
  const of = shown.map(([state, text]) => `${text}: ${count(counts[state])}`).join(', ');
  const by = Object.entries(verified).map(([name, times]) => `${escapeText(name)}: ${count(times)}`);
  const words = Object.fromEntries(STATES);
  const facts = [...marked, ...unproven].map(
    ({ n, turn, call, approver = '(taken out)', state, why }): Fact => {
      const text = escapeText(`${turn}/${call}, ${approver}, record ${n}: ${why}`);
      return [words[state] ?? state, { text, paint: state === 'bad' ? style.bad : style.warn }];
    },
  );
  const all = ['removed', 'revoked', 'bad', 'unknown_key', 'taken_out'] as const;
  const left = all.reduce((sum, state) => sum + counts[state], 0) - facts.length;
  return [
    ['decisions', of],
    [
      'keys',
      keys === 'carried' && counts.carried > 0 ? { text: CARRIED_ONLY, paint: style.warn } : undefined,
    ],
    ['signed by', by.length === 0 ? undefined : by.join(', ')],
    ...facts,
    ['and', left === 0 ? undefined : `${count(left)} more of these`],
  ];
}
