import { z } from 'zod';
import { canonicalJson, digestText } from '../contract/digest';
import { DECISIONS } from '../contract/decision';
import { LIMITS } from '../contract/limits';
import type { InPlaceOf, Requesters } from '../contract/authority/votes';

/** What a signed vote can say. `run-again`: a call in doubt is started once more, as the next generation. */
export const SIGNED_DECISIONS = [...DECISIONS, 'run-again'] as const;

/** Half a character, which no bytes of UTF-8 say. */
const TORN = /\p{Cs}/u;
const text = (most: number): z.ZodString =>
  z
    .string()
    .max(most)
    .refine((value) => !TORN.test(value), 'holds half a character');
const id = text(1000).min(1);
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex');
const moment = z
  .string()
  .max(30)
  .refine(isMoment, 'must be a time in UTC with milliseconds, such as 2026-11-24T12:00:00.000Z');

/** Exactly one text for each moment: a signature is over the text. */
function isMoment(value: string): boolean {
  const at = Date.parse(value);
  return !Number.isNaN(at) && new Date(at).toISOString() === value;
}

const statementFields = z.strictObject({
  /** Of this form: fields are neither added nor left out within one version. 2 has `inPlaceOf`. */
  v: z.literal([1, 2]),
  /** Of the approvers file. */
  installation: z.string().regex(/^[0-9a-f]{32}$/),
  /** Namespace, workflow and first run as the server names them. */
  namespace: id,
  workflowId: id,
  firstExecutionRunId: id,
  callKey: id,
  /** 0, and one more with each *run again*. */
  generation: z.int().min(0),
  agent: id,
  tool: id,
  toolDigest: digest,
  /** Of what the person saw: arguments, preview and plan. */
  seenDigest: digest,
  /** Of the arguments that would run. */
  effectiveDigest: digest,
  ruleDigest: digest,
  /** In order, each once; empty where nobody knows who asked. */
  requesters: z
    .array(text(1000))
    .max(1000)
    .refine((names) => canonicalJson(sorted(names)) === canonicalJson(names), 'must be in order, each once'),
  decision: z.enum(SIGNED_DECISIONS),
  /** Empty where none was given. */
  reason: text(LIMITS.reasonBytes),
  approver: id,
  /** In whose place the approver votes, and by which out-of-office. */
  inPlaceOf: z.strictObject({ person: id, entry: id }).optional(),
  /** When it was signed, by the signer's clock. */
  at: moment,
  /** Until when a call may start by it. */
  notAfter: moment,
});
const statementSchema = statementFields.refine(
  ({ v, inPlaceOf }) => v === (inPlaceOf === undefined ? 1 : 2),
  'must be of version 2 with inPlaceOf, and of version 1 without',
);

/** What a countersignature is over. */
export type Statement = z.output<typeof statementSchema>;

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

/** What is known of a call without asking who votes. */
export interface CallFacts
  extends
    Pick<
      Statement,
      'installation' | 'namespace' | 'workflowId' | 'firstExecutionRunId' | 'callKey' | 'generation'
    >,
    Pick<Statement, 'agent' | 'tool' | 'toolDigest' | 'seenDigest' | 'effectiveDigest' | 'ruleDigest'> {
  requesters: Requesters;
}

/** What a person adds to that. */
export interface SignableVote extends Pick<Statement, 'decision' | 'approver' | 'at' | 'notAfter'> {
  reason?: string;
  inPlaceOf?: InPlaceOf | undefined;
}

/** The statement of a vote on a call; undefined where a part is not in its form. */
export function statementOf(facts: CallFacts, vote: SignableVote): Statement | undefined {
  const { installation, namespace, workflowId, firstExecutionRunId, callKey, generation } = facts;
  const { agent, tool, toolDigest, seenDigest, effectiveDigest, ruleDigest, requesters } = facts;
  const { decision, reason = '', approver, inPlaceOf, at, notAfter } = vote;
  return statementSchema.safeParse({
    ...(inPlaceOf === undefined ? { v: 1 } : { v: 2, inPlaceOf }),
    ...{ installation, namespace, workflowId, firstExecutionRunId, callKey, generation },
    ...{ agent, tool, toolDigest, seenDigest, effectiveDigest, ruleDigest },
    ...{ requesters: sorted(requesters ?? []), decision, reason, approver, at, notAfter },
  }).data;
}

const MOST_STATEMENT = 2 * 1024 * 1024;

/** The statement that a text says; undefined unless it is the one text of a statement. Never throws. */
export function readStatement(written: string): Statement | undefined {
  if (written.length > MOST_STATEMENT) return undefined;
  try {
    const { data } = statementSchema.safeParse(JSON.parse(written));
    return data !== undefined && canonicalJson(data) === written ? data : undefined;
  } catch {
    return undefined;
  }
}

/** The text that is signed, as UTF-8: canonical JSON (RFC 8785). Nothing is normalised: two spellings are two texts. */
export function statementText(statement: Statement): string {
  return canonicalJson(statementSchema.parse(statement));
}

/** SHA-256 of that text, in hex. */
export function statementDigest(statement: Statement): string {
  return digestText(statementText(statement));
}
