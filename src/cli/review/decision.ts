import { defined } from '../../contract/defined';
import { randomUUID } from 'node:crypto';
import type { Answer, Countersign } from '../../client';
import { type Decision, type Resolution, voteOf, type VoteSignature } from '../../contract/decision';
import { assuranceWanted, type VoteDecision } from '../../authority/votes/voters';
import { assuranceText } from '../../authority/rules/stricter-rule';
import { CountersignError, usageError } from '../../contract/errors';
import type { RequestOpened } from '../../history/events';
import { hunksToSign } from '../../history/decisions';
import type { CallView } from '../../history/view';
import type { Context } from '../context';
import type { Sign } from './sign';
import { digestJson } from '../../contract/digest';
import type { JsonObject } from '../../contract/json';
import { type Assignment, setArgument } from '../set-argument';
import { afterWords } from '../../authority/votes/requesters';

/** One call that a person decides, and everything that is needed to decide it. */
export interface Subject {
  client: Pick<Countersign, 'answer' | 'decide' | 'resolve' | 'view'>;
  turn: string;
  agent: string;
  call: CallView;
  /** The person who decides, and the reason if it is already known. */
  said: { approver: string; reason?: string; suggestion?: string };
  /** Signs the decision. Absent: nobody asked for a signature. */
  sign?: Sign;
  context: Pick<Context, 'screen' | 'env'>;
}

/** `<turn>/<call>`. */
export function idOf({ turn, call }: Pick<Subject, 'turn' | 'call'>): string {
  return `${turn}/${call.callId}`;
}

/** The request of a call that waits for a decision. */
export function requestOf({ call }: Subject): RequestOpened {
  if (call.phase === 'request' && call.request) return call.request;
  const hint = 'countersign inbox lists what waits; countersign show says how it ended';
  throw new CountersignError('usage', `${call.callId} does not wait for a decision`, hint);
}

/**
 * Sends a decision together with the digest of the request that the person saw. The decision has one id, so it counts
 * only once even if it is sent twice.
 *
 * @throws CountersignError `signature_needed`, and the errors of signing.
 */
export async function decide(
  subject: Subject,
  decision: Omit<
    Decision,
    'callId' | 'seenDigest' | 'callKey' | 'runId' | 'approver' | 'channel' | 'decisionId' | 'signature'
  >,
): Promise<Answer> {
  const { client, turn, call, said, context } = subject;
  // An edit makes a new request, which needs its own decision.
  const word = voteOf(decision);
  const reason = decision.reason ?? said.reason;
  const suggestion = decision.suggestion ?? said.suggestion;
  const by = { approver: said.approver, now: Date.now() };
  const isRead =
    decision.arguments !== undefined || (word !== undefined && (suggestion ?? reason) !== undefined);
  const counts = isRead ? afterWords(call.request?.authority, by) : undefined;
  if (counts !== undefined) context.screen.note(counts);
  const signed =
    word === undefined || call.phase !== 'request'
      ? { decisionId: randomUUID() }
      : await signing(subject, word, { reason, suggestion, hunks: decision.hunks });
  const head = { callId: call.callId, ...seen(call), ...said, channel: 'cli' };
  return client.decide(turn, { ...head, ...defined(decision), ...signed });
}

/**
 * The id to send with a decision on a call, and the signature over it. There is none if the person does not sign.
 *
 * @throws CountersignError `signature_needed` if the person does not sign and the rule counts only signed votes; the
 * errors of signing.
 */
async function signing(
  subject: Pick<Subject, 'turn' | 'agent' | 'call' | 'sign'>,
  decision: VoteDecision,
  {
    hunks: chosen,
    ...words
  }: Partial<Record<'reason' | 'suggestion', string | undefined>> & {
    hunks?: readonly string[];
  },
): Promise<{ decisionId: string; signature?: VoteSignature }> {
  const { turn, agent, call, sign } = subject;
  const decisionId = randomUUID();
  const hunks = hunksToSign(call, decision, chosen);
  if (sign) {
    const about = { turn, agent, call, decisionId, decision, ...words, hunks };
    return { decisionId, signature: await sign(about) };
  }
  const wanted = assuranceWanted(call.request?.authority, decision);
  if (wanted === undefined) return { decisionId };
  const message = `the rule of ${call.callId} wants decisions ${assuranceText(wanted)}, and this one is not signed`;
  throw new CountersignError(
    'signature_needed',
    message,
    wanted === 'signed_in'
      ? 'Decide it in the web inbox, or sign it with your key: --sign.'
      : `Sign it with your key: countersign approve ${idOf(subject)} --sign`,
  );
}

/** As `signing`, for a resolution. Only running a call again is a vote, which a rule may want signed. */
export async function signingResolution(
  subject: Parameters<typeof signing>[0],
  resolution: Resolution['resolution'],
  reason: string | undefined,
): ReturnType<typeof signing> {
  return resolution === 'run-again' ? signing(subject, resolution, { reason }) : { decisionId: randomUUID() };
}

/** The error for a person who left without a decision. The program did not fail. */
export function givenUp(why: string): CountersignError {
  return new CountersignError(
    'failed',
    `given up: ${why}; nothing was decided`,
    'The request is as open as it was.',
  );
}

/** The changes or hunks that a person gave on the command line. */
export interface ApprovalChoice {
  /** `--args`: the arguments in place of the proposed arguments. */
  arguments?: JsonObject;
  /** `--set`: values to set in the arguments, in order. */
  assignments: readonly Assignment[];
  /** `--hunks`. */
  hunks?: readonly string[];
}

/** A decision without the person who made it. */
export type AnonymousDecision = Pick<
  Decision,
  'callId' | 'decision' | 'arguments' | 'hunks' | 'seenDigest' | 'callKey' | 'runId'
>;

/**
 * The decision that a choice means: `modified` if its arguments differ from the proposed arguments, otherwise
 * `approved`.
 *
 * @throws CountersignError `usage` for a choice that does not fit the call.
 */
export function chooseApproval(call: CallView, choice: ApprovalChoice): AnonymousDecision {
  checkKind(call);
  const edited = editedArguments(call, choice);
  const { hunks } = choice;
  if (edited && hunks) throw usageError('--hunks goes with unchanged arguments only');
  const head = { callId: call.callId, ...seen(call) };
  if (edited) return { ...head, decision: 'modified', arguments: edited };
  if (hunks === undefined) return { ...head, decision: 'approved' };
  return { ...head, decision: 'approved', hunks: checkHunks(call, hunks) };
}

/**
 * The digest and keys of the request that the person saw. They are sent with every decision, so that the decision
 * counts for this request only.
 */
export function seen({ request, runId }: CallView): Pick<Decision, 'seenDigest' | 'callKey' | 'runId'> {
  if (request === undefined) return {};
  const { seenDigest, callKey } = request;
  return { seenDigest, callKey, runId };
}

/**
 * The keys of the call in doubt that the person saw, and the generation of its start. These keys are sent along, so
 * that the resolution counts for this start only.
 */
export function doubtKeys({
  doubt,
  runId,
  generation,
}: CallView): Pick<Resolution, 'callKey' | 'runId' | 'generation'> {
  return doubt ? { callKey: doubt.callKey, generation, runId } : {};
}

/** Reads `1,3`. */
export function parseHunks(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.some((id) => !/^[1-9]\d*$/.test(id))) {
    throw usageError(
      `--hunks ${text}: these are not hunk numbers`,
      'Write their numbers, such as --hunks 1,3.',
    );
  }
  return [...new Set(ids)];
}

function checkKind({ phase, callId }: CallView) {
  if (phase === 'question')
    throw usageError(`${callId} is a question; it is answered, not approved`, 'Use `countersign answer`.');
  if (phase !== 'in_doubt') return;
  throw usageError(`${callId} is in doubt; it is resolved, not approved`, 'Use `countersign resolve`.');
}

function editedArguments(call: CallView, choice: ApprovalChoice): JsonObject | undefined {
  const proposed = call.request?.arguments ?? call.effective;
  const edited = choice.assignments.reduce(setArgument, choice.arguments ?? proposed);
  return digestJson(edited) === digestJson(proposed) ? undefined : edited;
}

function checkHunks({ request }: CallView, hunks: readonly string[]): string[] {
  const there = request?.preview?.plan?.hunks.map(({ id }) => id) ?? [];
  if (there.length === 0) throw usageError('this call proposes no hunks; --hunks is for file proposals');
  const unknown = hunks.filter((id) => !there.includes(id));
  if (unknown.length > 0)
    throw usageError(`there is no hunk ${unknown.join(', ')}; there are ${there.join(', ')}`);
  return [...hunks];
}
