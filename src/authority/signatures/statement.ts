import { z } from 'zod';
import { defined } from '../../contract/defined';
import { canonicalJson } from '../../contract/digest';
import { DECISIONS } from '../../contract/decision';
import { isMoment } from '../../contract/text/times';
import { LIMITS } from '../../contract/limits';
import { isWellFormed } from '../../contract/text/bytes';
import type { Requesters } from '../votes/who-may-vote';

/**
 * The decisions that a signed vote can make. `run-again`: a call in doubt is started once more, as the next generation.
 */
export const SIGNED_DECISIONS = [...DECISIONS, 'run-again'] as const;

const text = (most: number) => z.string().max(most).refine(isWellFormed, 'holds half a character');
const id = text(1000).min(1);
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex');
const moment = z
  .string()
  .max(30)
  .refine(isMoment, 'must be a time in UTC with milliseconds, such as 2026-11-24T12:00:00.000Z');

const inOrder = (names: readonly string[]) => canonicalJson(sorted(names)) === canonicalJson(names);
const NOT_IN_ORDER = 'must be in order, each once';

const statementSchema = z.strictObject({
  /** The version of this form. Within one version, no field is added, and only a field without a value is left out. */
  v: z.literal(3),
  /** The `installation` of the approvers file. */
  installation: z.string().regex(/^[0-9a-f]{32}$/),
  /** Namespace, workflow and run as the server names them. A reset or a move makes another run. */
  namespace: id,
  workflowId: id,
  runId: id,
  callKey: id,
  /** 0 at first. Each *run again* adds one. */
  generation: z.int().min(0),
  agent: id,
  tool: id,
  toolDigest: digest,
  /** The digest of what the person saw: arguments, preview and plan. */
  seenDigest: digest,
  /** The digest of the arguments that would run. */
  effectiveDigest: digest,
  ruleDigest: digest,
  /** The people who asked, sorted and without repetition. Empty if it is not known who asked. */
  requesters: z.array(text(1000)).max(1000).refine(inOrder, NOT_IN_ORDER),
  /** The id of the message that brings the vote. A copy under another id is not this vote. */
  decisionId: id,
  decision: z.enum(SIGNED_DECISIONS),
  /** The ids of the hunks that would run, sorted and without repetition. Absent: the whole call. */
  hunks: z
    .array(id.regex(/^[^,]*$/, 'must not have a comma'))
    .min(1)
    .max(10_000)
    .refine(inOrder, NOT_IN_ORDER)
    .optional(),
  /** Empty if the person gave no reason. */
  reason: text(LIMITS.reasonBytes),
  /** What the model should do instead of a denied call. Absent: nothing was suggested. */
  suggestion: text(LIMITS.reasonBytes).min(1).optional(),
  approver: id,
  /** The time of the signature, by the signer's clock. */
  at: moment,
  /** The time until which this vote lets the call start. */
  notAfter: moment,
});

/** The content that a countersignature covers. */
export type Statement = z.output<typeof statementSchema>;

function sorted(names: readonly string[]) {
  return [...new Set(names)].sort();
}

/** The facts of a call that do not depend on the voter. */
export interface SignedCallFacts
  extends
    Pick<Statement, 'installation' | 'namespace' | 'workflowId' | 'runId' | 'callKey' | 'generation'>,
    Pick<Statement, 'agent' | 'tool' | 'toolDigest' | 'seenDigest' | 'effectiveDigest' | 'ruleDigest'> {
  requesters: Requesters;
}

/** The parts of a statement that the voter adds to the facts of the call. */
interface SignableVote extends Pick<Statement, 'decisionId' | 'decision' | 'approver' | 'at' | 'notAfter'> {
  reason?: string;
  suggestion?: string;
  /** The ids of the hunks that the voter approves, in any order. Absent: the whole call. */
  hunks?: readonly string[];
}

/** The statement of a vote on a call. Undefined if a part does not have its form. */
export function statementOf(facts: SignedCallFacts, vote: SignableVote): Statement | undefined {
  const { installation, namespace, workflowId, runId, callKey, generation } = facts;
  const { agent, tool, toolDigest, seenDigest, effectiveDigest, ruleDigest, requesters } = facts;
  const { decisionId, decision, reason = '', suggestion, hunks, approver, at, notAfter } = vote;
  return statementSchema.safeParse({
    v: 3,
    installation,
    namespace,
    workflowId,
    runId,
    callKey,
    generation,
    agent,
    tool,
    toolDigest,
    seenDigest,
    effectiveDigest,
    ruleDigest,
    requesters: sorted(requesters ?? []),
    decisionId,
    decision,
    reason,
    approver,
    at,
    notAfter,
    ...defined({ hunks: hunks && sorted(hunks), suggestion: suggestion || undefined }),
  }).data;
}

const MOST_STATEMENT = 2 * 1024 * 1024;

/** Reads a statement from its text. Undefined if the text is not the canonical text of a statement. Never throws. */
export function readStatement(written: string): Statement | undefined {
  if (written.length > MOST_STATEMENT) return undefined;
  try {
    const { data } = statementSchema.safeParse(JSON.parse(written));
    return data !== undefined && canonicalJson(data) === written ? data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The text that is signed, as UTF-8: canonical JSON (RFC 8785). Unicode is not normalised, so two spellings are two
 * different texts.
 */
export function statementText(statement: Statement): string {
  return canonicalJson(statementSchema.parse(statement));
}
