import { LIMITS } from './limits';
import {
  both,
  exact,
  integer,
  jsonObject,
  list,
  number,
  object,
  type Of,
  oneOf,
  only,
  text,
} from './schema/shape';

/**
 * `withdrawn` takes back a vote on a request that still waits. Nothing else can be taken back. `ask-again` is for an
 * admin: the call is prepared anew, under today's rules and without votes.
 */
export const DECISIONS = ['approved', 'modified', 'denied', 'withdrawn', 'ask-again'] as const;
export type DecisionKind = (typeof DECISIONS)[number];

/** The id of a call: `<step>.<n>`, or what a user's workflow chose. */
const CALL_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;
export const CALL_ID = text({ pattern: CALL_ID_PATTERN.source });
const id = text({ minLength: 1, maxLength: 200 });
const name = text({ maxLength: 1000 });
const reason = text({ maxLength: LIMITS.reasonBytes });

/** Schemas of fields that messages share. */
export const MESSAGE_FIELDS = { id, name, reason } as const;

/** Whether a text can be the id of a call. */
export function isCallId(given: string): boolean {
  return CALL_ID_PATTERN.test(given);
}

/**
 * The owner of the key that signs. `ssh`, `passkey`: the approver. `inbox`: the web inbox, which says who was signed
 * in.
 */
export const SIGNATURE_KINDS = ['ssh', 'inbox', 'passkey'] as const;

/** A signature on a person's message. It holds no secret. */
export const VOTE_SIGNATURE = exact(
  {
    kind: oneOf(SIGNATURE_KINDS),
    /** The signature in the form of `ssh-keygen -Y sign`, or the assertion of a passkey, see `readAssertion`. */
    armored: text({ maxLength: LIMITS.signatureCharacters }),
    /**
     * The time of the signature, by the signer's clock, and the time until which a call may start by it. Both are
     * written as in the signed text. Whoever checks the signature refuses a time of another form. Whoever reads a
     * history keeps it, because such a signature is bad, and not absent.
     */
    at: text({ maxLength: 30 }),
    notAfter: text({ maxLength: 30 }),
  },
  {
    /** The text that was signed, for people who want to see it. No check reads it. */
    statement: text({ maxLength: LIMITS.statementCharacters }),
  },
);

/** A signature on a person's message. */
export interface VoteSignature extends Of<typeof VOTE_SIGNATURE> {}

/** The optional fields that decisions, resolutions and answers share. */
const COMMON = {
  reason,
  /** The name that was claimed. */
  approver: name,
  /** `cli`, `web` and so on. `signal` if the sender names no channel. */
  channel: name,
  /**
   * The approver was signed in at the channel. Like the name, this is only claimed: whoever may send a signal can claim
   * it.
   */
  authenticated: only(true),
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

/**
 * A person's decision on a request. Payload of signal `approval` and update `decide`. The type, the validation of every
 * message and the reading of history all come from this one schema.
 */
export const DECISION = exact(
  { callId: CALL_ID, decision: oneOf(DECISIONS) },
  both(COMMON, {
    /** Only with `modified`, and required there: the whole arguments, not a patch. */
    arguments: jsonObject(),
    /** Only with `approved` and `seenDigest`: ids of the accepted hunks of the plan. An empty list is a denial. */
    hunks: list(id, { maxItems: 10_000 }),
    /**
     * The digest of what the person saw: arguments, preview and plan. Without it, the decision is not bound to what was
     * shown.
     */
    seenDigest: text({ pattern: '^[0-9a-f]{64}$' }),
    /**
     * Only with `denied`: what the model should do instead. The model reads it as the person's words. The limit is for
     * the reason and the suggestion together.
     */
    suggestion: reason,
    signature: VOTE_SIGNATURE,
  }),
);

/** A person's decision on a request. */
export interface Decision extends Of<typeof DECISION> {}

export const RESOLUTIONS = ['happened', 'did-not', 'run-again'] as const;
export type ResolutionKind = (typeof RESOLUTIONS)[number];

/**
 * A person's finding on a call in doubt. Payload of signal `resolution` and update `resolve`. The type, the checks and
 * the reading of history come from this schema, too.
 */
export const RESOLUTION = exact(
  { callId: CALL_ID, resolution: oneOf(RESOLUTIONS) },
  both(COMMON, {
    /** Only with `happened`: the result of the call, if the person knows it. */
    content: text({ maxLength: LIMITS.outputBytes }),
    /**
     * The generation of the start that the person was asked about. If the call was started again since, the
     * resolution is refused.
     */
    generation: integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    signature: VOTE_SIGNATURE,
  }),
);

/** A person's finding on a call in doubt. */
export interface Resolution extends Of<typeof RESOLUTION> {}

const ANSWERS = ['answered', 'declined'] as const;
export type AnswerKind = (typeof ANSWERS)[number];

/**
 * A person's answer to a question. Payload of signal `answer` and update `answer`. The type, the checks and the reading
 * of history come from this schema, too. An answer does not decide: it lets nothing run.
 */
export const QUESTION_ANSWER = exact(
  { callId: CALL_ID, answer: oneOf(ANSWERS) },
  both(COMMON, {
    /** Only with `answered`: the values that were filled in. Fields that are left out get the defaults of the form. */
    content: jsonObject(),
  }),
);

/** A person's answer to a question. */
export interface QuestionAnswer extends Of<typeof QUESTION_ANSWER> {}

/** Payload of the `abandon` signal: end a cancelled turn although calls are in doubt. */
export const ABANDONMENT = exact({}, { reason, approver: name });
export interface Abandonment extends Of<typeof ABANDONMENT> {}

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

/** The votes that a request still needs before it is decided. */
export const NEEDS = object(
  {
    /** The number of further people who have to approve. */
    approvals: number(),
    /** Names of people who may vote and have not voted. Ten at most. */
    who: list(text()),
  },
  {
    /** Groups whose approval is still missing. Absent: none is missing. */
    groups: list(text()),
  },
);
export interface VotesNeeded extends Of<typeof NEEDS> {}

export const ACCEPTED = object(
  {
    accepted: only(true),
    decisionId: text(),
    callId: text(),
    decision: oneOf([...DECISIONS, ...RESOLUTIONS, ...ANSWERS]),
    approver: text(),
    /** Workflow time, ISO 8601. */
    at: text(),
  },
  {
    /**
     * Set if somebody has to look at the call again, because an edit changed what is shown or the call is prepared
     * anew. The call becomes a request again.
     */
    asksAgain: only(true),
    /**
     * Set if the sender did not name the digest of what was seen. Such a decision is not bound to the request that was
     * shown.
     */
    unbound: only(true),
    /**
     * Set if the decision counts as one of several votes: the votes that are still needed. Absent: this decision settled
     * the call.
     */
    needs: NEEDS,
  },
);
export interface Accepted extends Of<typeof ACCEPTED> {}

export const REFUSED_VERDICT = object(
  { accepted: only(false), code: oneOf(REFUSAL_CODES), message: text(), callId: text() },
  {
    decisionId: text(),
    /** Only with `validation`: the problems, with their places. */
    issues: list(object({ path: text(), message: text() })),
    /** Only with `already_decided`: the decision that stands. */
    standing: object({ decision: text(), approver: text(), at: text() }),
  },
);
export interface Refused extends Of<typeof REFUSED_VERDICT> {}

/** The refusal of a decision that came after the deadline. */
export const REQUEST_EXPIRED = 'this request expired; this decision starts nothing';

/** The refusal of a resolution for a call that the turn never made. */
export function noCall(callId: string): string {
  return `there is no call ${callId} in this turn`;
}

/** One verdict on a signal, as the memo keeps it. */
export const SIGNAL_VERDICT = object(
  {
    callId: text(),
    /** `accepted`, or the refusal's code. */
    verdict: oneOf(['accepted', ...REFUSAL_CODES]),
    decisionId: text(),
    at: text(),
  },
  {
    /** See `Accepted`. */
    asksAgain: only(true),
    /** The decision counts as a vote, and the call still waits for other votes. */
    stillWaits: only(true),
    /** Only in the last verdict: the number of signals that had arrived by then and were not judged yet. Absent: none. */
    behind: number(),
  },
);
export interface SignalVerdict extends Of<typeof SIGNAL_VERDICT> {}

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
