import { z } from 'zod';
import type { Approvers } from '../../authority/approvers';
import { defined } from '../../contract/defined';
import { parseJson } from '../../contract/json';
import type { DecisionMade, Resolved, TurnEvent } from '../events';
import type { Facts, SealedField } from './format';
import { frameOf, type ReadLine } from './read';

/** What is known of a run and its calls when a person says something, as far as a signature is over it. */
export interface SignedContext {
  /** Takes note of one more event of the run. */
  note(event: TurnEvent): void;
  /** What the signature of a person is over, besides what their record says anyway; nothing where they did not sign. */
  of(event: DecisionMade | Resolved): {
    facts: { [name: string]: Facts[string] | undefined };
    requesters?: string;
  };
}

/** What a request says that its votes are over. */
interface Asked {
  callKey: string;
  tool: string;
  toolDigest: string;
  ruleDigest?: string | undefined;
  requesters: readonly string[];
}

/** Starts with a run. */
export function createSignedContext(): SignedContext {
  const run: { agent?: string; firstRun?: string } = {};
  const asked = new Map<string, Asked>();
  const generations = new Map<string, number>();
  return {
    note: (event) => {
      if (event.type === 'turn_started')
        Object.assign(run, { agent: event.agent, firstRun: event.firstRunId ?? event.runId });
      if (event.type === 'call_started') generations.set(event.callId, event.generation);
      if (event.type === 'request_opened') {
        const { callId, callKey, tool, toolDigest, authority } = event;
        const { ruleDigest, requesters = [] } = authority ?? {};
        asked.set(callId, { callKey, tool, toolDigest, ruleDigest, requesters });
      }
      const before = event.type === 'in_doubt' ? asked.get(event.callId) : undefined;
      if (event.type === 'in_doubt' && before !== undefined) before.callKey = event.callKey;
    },
    of: ({ type, callId, signature }) => {
      if (signature === undefined) return { facts: {} };
      const { requesters = [], ...call } = asked.get(callId) ?? {};
      const last = generations.get(callId) ?? 0;
      const generation = type === 'resolved' ? last + 1 : last;
      return { facts: { ...run, ...call, generation }, requesters: JSON.stringify(requesters) };
    },
  };
}

/** What a signature of the file turned out to be. `taken_out`: values that it is over are no longer in the file. */
export const SIGNATURE_STATES = ['verified', 'none', 'bad', 'unknown_key', 'taken_out'] as const;
export type SignatureState = (typeof SIGNATURE_STATES)[number];

/** A decision whose signature does not prove it. */
export interface Unproven {
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
export async function createSignatureChecker(approvers: Approvers): Promise<SignatureChecker> {
  const judge = await judgeBy(approvers);
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
  const { assuranceOf, VOTE_FAULTS } = await import('../../authority/assurance.js');
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
