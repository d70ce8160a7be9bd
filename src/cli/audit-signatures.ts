import { z } from 'zod';
import type { Approvers } from '../authority/approvers';
import { defined } from '../contract/defined';
import { parseJson } from '../contract/json';
import type { SealedField } from '../history/audit/format';
import { frameOf, type ReadLine } from '../history/audit/read';
import { escapeText } from './print/escape';
import { count } from './print/format';
import type { ScreenFormat } from './print/screen';
import type { Fact } from './print/table';

/** What a signature of the file turned out to be. `taken_out`: values that it is over are no longer in the file. */
type SignatureState = 'verified' | 'none' | 'bad' | 'unknown_key' | 'taken_out';

/** A decision whose signature does not prove it. */
interface Unproven {
  /** The record's number in the file. */
  n: number;
  turn: string;
  call: string;
  /** Absent: it was taken out. */
  approver?: string;
  state: Exclude<SignatureState, 'verified' | 'none'>;
  why: string;
}

/** What is known of the signatures of a file. */
export interface SignatureReport {
  /** How many decisions there are of each. */
  counts: Record<SignatureState, number>;
  /** Whose signatures were verified: how many of each person. */
  verified: Record<string, number>;
  /** The first of those that prove nothing. */
  unproven: Unproven[];
}

/** Checks the signatures of a file line by line. */
export interface SignatureChecker {
  /** Takes a line that is as it was written. */
  push(line: ReadLine): void;
  finish(): SignatureReport;
}

const MOST_UNPROVEN = 100;

/** Starts checking by a file of who may decide, with the function by which a worker checks votes. */
export async function createSignatureChecker(named: string | Approvers): Promise<SignatureChecker> {
  // Loaded here, so that no other command waits for YAML and CEL.
  const { loadApprovers } = await import('../authority/approvers.js');
  const judge = await judgeBy(typeof named === 'string' ? await loadApprovers(named) : named);
  const counts = { verified: 0, none: 0, bad: 0, unknown_key: 0, taken_out: 0 };
  const verified = new Map<string, number>();
  const unproven: Unproven[] = [];
  let namespace = '';
  return {
    push: (line) => {
      if (line.type === 'audit') namespace = first.safeParse(frameOf(line.body)).data?.namespace ?? '';
      if (line.type !== 'decision' && line.type !== 'resolution') return;
      const judged = judge(line, namespace);
      counts[judged.state] += 1;
      if (judged.state === 'verified') verified.set(judged.voter, (verified.get(judged.voter) ?? 0) + 1);
      else if (judged.state !== 'none' && unproven.length < MOST_UNPROVEN) unproven.push(judged);
    },
    finish: () => ({ counts, verified: Object.fromEntries(verified), unproven }),
  };
}

const first = z.object({ namespace: z.string() });
const text = z.string().default('');
/** The facts that a vote is judged by; what a signature lacks makes it bad. */
const record = z.object({
  ...{ turn: text, run: text, call: text, decision: text, resolution: text, hunks: z.string().optional() },
  ...{ firstRun: text, agent: text, tool: text, callKey: text, generation: z.number().default(0) },
  ...{ toolDigest: text, ruleDigest: text, argsDigest: text, seenDigest: text },
  ...{ signedBy: text, signedAt: text, notAfter: text },
});

/** Everything that a signature is over, and that can be taken out. */
const SIGNED_FIELDS = ['signature', 'approver', 'reason', 'requesters'] as const satisfies SealedField[];

type Judged = { state: 'verified'; voter: string } | { state: 'none' } | Unproven;

async function judgeBy(approvers: Approvers): Promise<(line: ReadLine, namespace: string) => Judged> {
  // Loaded here, so that no other command waits for it.
  const { assuranceOf, VOTE_FAULTS } = await import('../authority/assurance.js');
  return (line, namespace) => {
    if (!line.sealed.has('signature')) return { state: 'none' };
    const approver = valueOf(line, 'approver');
    const read = record.safeParse(frameOf(line.body));
    const { turn = '', call = '' } = read.data ?? {};
    const named = { n: line.n, turn, call, ...defined({ approver }) };
    if (!read.success) return { ...named, state: 'bad', why: VOTE_FAULTS.malformed };
    const gone = SIGNED_FIELDS.filter((name) => line.sealed.has(name) && !line.open.has(name));
    if (gone.length > 0)
      return {
        ...named,
        state: 'taken_out',
        why: `it is over values that were taken out: ${gone.join(', ')}`,
      };
    const { data: said } = read;
    const facts = { ...factsOf(line, said), installation: approvers.installation, namespace };
    const voter = approvers.personOf(approver ?? '') ?? approver ?? '';
    // As it was decided: a key that has expired since does not spoil it.
    const judged = assuranceOf(voteOf(line, said, voter), { facts, approvers, now: Date.parse(line.at) });
    if (judged.ok) return { state: 'verified', voter };
    const isUnknown = judged.why === 'key_removed' || judged.why === 'unknown_person';
    return { ...named, state: isUnknown ? 'unknown_key' : 'bad', why: VOTE_FAULTS[judged.why] };
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
  return { decision: word, reason, approver, at, notAfter, seenDigest, signature };
}

/** The value of a field; undefined where it was taken out, or never was there. */
function valueOf({ open }: ReadLine, name: SealedField): string | undefined {
  const [, value] = pair.safeParse(parseJson(open.get(name) ?? '')).data ?? [];
  return value;
}

const pair = z.tuple([z.string(), z.string()]);

const STATES: readonly [SignatureState, string][] = [
  ['verified', 'verified'],
  ['none', 'no signature'],
  ['bad', 'bad signature'],
  ['unknown_key', 'unknown key'],
  ['taken_out', 'values taken out'],
];

/** How the signatures of decisions stand, by what they are and whose. */
export function signatureFacts(report: SignatureReport | undefined, { style }: ScreenFormat): Fact[] {
  if (report === undefined)
    return [['decisions', 'their signatures were not checked: name --approvers <path>']];
  const { counts, verified, unproven } = report;
  const of = STATES.map(([state, text]) => `${text}: ${count(counts[state])}`).join(', ');
  const by = Object.entries(verified).map(([name, times]) => `${escapeText(name)}: ${count(times)}`);
  const words = Object.fromEntries(STATES);
  const facts = unproven.map(({ n, turn, call, approver = '(taken out)', state, why }): Fact => {
    const text = escapeText(`${turn}/${call}, ${approver}, record ${n}: ${why}`);
    return [words[state] ?? state, { text, paint: state === 'bad' ? style.bad : style.warn }];
  });
  const left = counts.bad + counts.unknown_key + counts.taken_out - unproven.length;
  return [
    ['decisions', of],
    ['signed by', by.length === 0 ? undefined : by.join(', ')],
    ...facts,
    ['and', left === 0 ? undefined : `${count(left)} more that are not proven`],
  ];
}
