import { LIMITS } from './limits';
import type { MessageOf, MessageSchema } from './schema/message';
import type { Issue } from './tool';

/**
 * `withdrawn` takes back a vote on a request that still waits. Nothing else can be taken back. `ask-again` is for an
 * admin: the call is prepared anew, under today's rules and without votes.
 */
export const DECISIONS = ['approved', 'modified', 'denied', 'withdrawn', 'ask-again'] as const;
export type DecisionKind = (typeof DECISIONS)[number];

/** The id of a call: `<step>.<n>`, or what a user's workflow chose. */
export const CALL_ID = { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' } as const;
const CALL_ID_PATTERN = new RegExp(CALL_ID.pattern);
const id = { type: 'string', minLength: 1, maxLength: 200 } as const;
const text = { type: 'string', maxLength: 1000 } as const;
const reason = { type: 'string', maxLength: LIMITS.reasonBytes } as const;

/** Schemas of fields that messages share. */
export const MESSAGE_FIELDS = { id, text, reason } as const;

/** Whether a text can be the id of a call. */
export function isCallId(text: string): boolean {
  return CALL_ID_PATTERN.test(text);
}

/**
 * The owner of the key that signs. `ssh`, `passkey`: the approver. `inbox`: the web inbox, which says who was signed
 * in.
 */
export const SIGNATURE_KINDS = ['ssh', 'inbox', 'passkey'] as const;
export type SignatureKind = (typeof SIGNATURE_KINDS)[number];

/** A signature on a person's message. It holds no secret. */
export const VOTE_SIGNATURE = {
  type: 'object',
  properties: {
    kind: { enum: SIGNATURE_KINDS },
    /** The signature in the form of `ssh-keygen -Y sign`, or the assertion of a passkey, see `readAssertion`. */
    armored: { type: 'string', maxLength: LIMITS.signatureCharacters },
    /**
     * The time of the signature, by the signer's clock, and the time until which a call may start by it. Both are
     * written as in the signed text. Whoever checks the signature refuses a time of another form. Whoever reads a
     * history keeps it, because such a signature is bad, and not absent.
     */
    at: { type: 'string', maxLength: 30 },
    notAfter: { type: 'string', maxLength: 30 },
    /** The text that was signed, for people who want to see it. No check reads it. */
    statement: { type: 'string', maxLength: LIMITS.statementCharacters },
  },
  required: ['kind', 'armored', 'at', 'notAfter'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** A signature on a person's message. */
export interface VoteSignature extends MessageOf<typeof VOTE_SIGNATURE> {}

/** The fields that decisions, resolutions and answers share. */
const COMMON = {
  callId: CALL_ID,
  reason,
  /** The name that was claimed. */
  approver: text,
  /** `cli`, `web` and so on. `signal` if the sender names no channel. */
  channel: text,
  /**
   * The approver was signed in at the channel. Like the name, this is only claimed: whoever may send a signal can claim
   * it.
   */
  authenticated: { const: true },
  /** The key of the call that the person saw. */
  callKey: id,
  /** The run in which the person saw the call. In another run, which a reset made, the message starts nothing. */
  runId: id,
  /**
   * The id of this message. It is drawn if it is missing. A repeated message with the same content gets the first
   * verdict again.
   */
  decisionId: id,
} as const;

/** The fields of a message, with those that all share. As a pure call, a page without the message leaves it out. */
const withCommon = <const F extends MessageSchema['properties']>(fields: F): typeof COMMON & F => ({
  ...COMMON,
  ...fields,
});

/**
 * A person's decision on a request. Payload of signal `approval` and update `decide`. The type, the validation of every
 * message and the reading of history all come from this one schema.
 */
export const DECISION = {
  type: 'object',
  properties: /* @__PURE__ */ withCommon({
    decision: { enum: DECISIONS },
    /** Only with `modified`, and required there: the whole arguments, not a patch. */
    arguments: { type: 'object' },
    /** Only with `approved` and `seenDigest`: ids of the accepted hunks of the plan. An empty list is a denial. */
    hunks: { type: 'array', items: id, maxItems: 10_000 },
    /**
     * The digest of what the person saw: arguments, preview and plan. Without it, the decision is not bound to what was
     * shown.
     */
    seenDigest: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    /**
     * Only with `denied`: what the model should do instead. The model reads it as the person's words. The limit is for
     * the reason and the suggestion together.
     */
    suggestion: reason,
    signature: VOTE_SIGNATURE,
  }),
  required: ['callId', 'decision'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** A person's decision on a request. */
export interface Decision extends MessageOf<typeof DECISION> {}

export const RESOLUTIONS = ['happened', 'did-not', 'run-again'] as const;
export type ResolutionKind = (typeof RESOLUTIONS)[number];

/**
 * A person's finding on a call in doubt. Payload of signal `resolution` and update `resolve`. The type, the checks and
 * the reading of history come from this schema, too.
 */
export const RESOLUTION = {
  type: 'object',
  properties: /* @__PURE__ */ withCommon({
    resolution: { enum: RESOLUTIONS },
    /** Only with `happened`: the result of the call, if the person knows it. */
    content: { type: 'string', maxLength: LIMITS.outputBytes },
    /**
     * The generation of the start that the person was asked about. If the call was started again since, the
     * resolution is refused.
     */
    generation: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    signature: VOTE_SIGNATURE,
  }),
  required: ['callId', 'resolution'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** A person's finding on a call in doubt. */
export interface Resolution extends MessageOf<typeof RESOLUTION> {}

const ANSWERS = ['answered', 'declined'] as const;
export type AnswerKind = (typeof ANSWERS)[number];

/**
 * A person's answer to a question. Payload of signal `answer` and update `answer`. The type, the checks and the reading
 * of history come from this schema, too. An answer does not decide: it lets nothing run.
 */
export const QUESTION_ANSWER = {
  type: 'object',
  properties: /* @__PURE__ */ withCommon({
    answer: { enum: ANSWERS },
    /** Only with `answered`: the values that were filled in. Fields that are left out get the defaults of the form. */
    content: { type: 'object' },
  }),
  required: ['callId', 'answer'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** A person's answer to a question. */
export interface QuestionAnswer extends MessageOf<typeof QUESTION_ANSWER> {}

/** Payload of the `abandon` signal: end a cancelled turn although calls are in doubt. */
export interface Abandonment {
  reason?: string;
  approver?: string;
}

/** Why a decision, a resolution or an answer was refused. A refusal changes nothing. The request stays open. */
export const REFUSAL_CODES = [
  'unknown_call',
  'already_decided',
  'stale_args',
  'validation',
  'expired',
  'malformed',
  'cancelled',
  'not_allowed',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The verdict on a decision, a resolution or an answer. */
export type Verdict = Accepted | Refused;

export interface Accepted {
  accepted: true;
  decisionId: string;
  callId: string;
  decision: DecisionKind | ResolutionKind | AnswerKind;
  approver: string;
  /** Workflow time, ISO 8601. */
  at: string;
  /**
   * Set if somebody has to look at the call again, because an edit changed what is shown or the call is prepared
   * anew. The call becomes a request again.
   */
  asksAgain?: true;
  /**
   * Set if the sender did not name the digest of what was seen. Such a decision is not bound to the request that was
   * shown.
   */
  unbound?: true;
  /**
   * Set if the decision counts as one of several votes: the votes that are still needed. Absent: this decision settled
   * the call.
   */
  needs?: VotesNeeded;
}

/** The votes that a request still needs before it is decided. */
export interface VotesNeeded {
  /** The number of further people who have to approve. */
  approvals: number;
  /** Groups whose approval is still missing. Absent: none is missing. */
  groups?: string[];
  /** Names of people who may vote and have not voted. Ten at most. */
  who: string[];
}

export interface Refused {
  accepted: false;
  code: RefusalCode;
  message: string;
  callId: string;
  decisionId?: string;
  /** Only with `validation`: the problems, with their places. */
  issues?: Issue[];
  /** Only with `already_decided`: the decision that stands. */
  standing?: { decision: string; approver: string; at: string };
}

/** The refusal of a decision that came after the deadline. */
export const REQUEST_EXPIRED = 'this request expired; this decision starts nothing';

/** The refusal of a resolution for a call that the turn never made. */
export function noCall(callId: string): string {
  return `there is no call ${callId} in this turn`;
}

/** One verdict on a signal, as the memo keeps it. */
export interface SignalVerdict {
  callId: string;
  /** `accepted`, or the refusal's code. */
  verdict: 'accepted' | RefusalCode;
  decisionId: string;
  at: string;
  /** See `Accepted`. */
  asksAgain?: true;
  /** The decision counts as a vote, and the call still waits for other votes. */
  stillWaits?: true;
  /** Only in the last verdict: the number of signals that had arrived by then and were not judged yet. Absent: none. */
  behind?: number;
}

/**
 * Whether an edit leads to a new request, because the preview does not show what would run, or because another rule may
 * apply.
 */
export function asksAgainAfterEdit({
  preview,
  authority,
}: {
  preview?: unknown;
  authority?: unknown;
}): boolean {
  return preview !== undefined || authority !== undefined;
}

/** Whether a decision lets its call run. */
export function isApproval(decision: Partial<Pick<Decision, 'decision' | 'hunks'>>): boolean {
  return !isDenial(decision) && (decision.decision === 'approved' || decision.decision === 'modified');
}

/** The vote that a decision casts. Undefined for an edit, a withdrawal and `ask-again`, which cast none. */
export function voteOf(
  decision: Partial<Pick<Decision, 'decision' | 'hunks'>>,
): 'approved' | 'denied' | undefined {
  if (isDenial(decision)) return 'denied';
  return decision.decision === 'approved' ? 'approved' : undefined;
}

/** Whether a decision lets nothing run. A decision that accepts no hunk is a denial, too. */
export function isDenial({ decision, hunks }: Partial<Pick<Decision, 'decision' | 'hunks'>>): boolean {
  return decision === 'denied' || hunks?.length === 0;
}
