import { NEEDS, SIGNATURE_KINDS, type VoteSignature } from './decision';
import { guard } from './schema/message';
import { both, fixed, flag, integer, list, object, type Of, oneOf, only, text } from './schema/shape';
import { MS } from './tool';

/** How sure it is that the named person cast a vote. The weakest comes first. */
export const ASSURANCES = ['claimed', 'signed_in', 'signed', 'signed_ssh'] as const;

export type Assurance = (typeof ASSURANCES)[number];

/** The action of a rule for a call. `by_safety`: dangerous calls ask, others run. */
const RULE_ACTIONS = ['run', 'ask', 'refuse', 'by_safety'] as const;

export type RuleAction = (typeof RULE_ACTIONS)[number];

const TEXT = text({ maxLength: 1000 });
const NAMES = fixed(TEXT);
const COUNT = integer({ minimum: 1, maximum: 1000 });

/**
 * The conditions of a rule under which people decide. They are plain data, so that a request can freeze them. Two rules
 * can be joined, and then each roster has to name a voter.
 */
const VOTE_RULE = {
  /** Names of people and `group:<name>`. A voter has to be in every roster. Without a roster, anybody may vote. */
  rosters: fixed(NAMES),
  /** The number of people who have to approve. */
  need: COUNT,
  /** Groups that all have to approve. Each group needs the vote of a different person. */
  groups: NAMES,
  /** The people who asked for the turn may not vote, and neither may their delegates. */
  notRequester: flag(),
  /** The number of denials that deny the call. */
  denyNeeds: COUNT,
  assurance: oneOf(ASSURANCES),
};
const TIMED = {
  /** The time until a request expires. Absent: the tool sets it. */
  expiresMs: MS,
  escalate: object({ afterMs: MS, to: NAMES }),
};
const RULE = object(both(VOTE_RULE, { name: TEXT, then: oneOf(RULE_ACTIONS) }), TIMED);

/** A rule as it is frozen. */
export interface RuleSnapshot extends Of<typeof RULE> {}
export type VoteRule = Omit<RuleSnapshot, 'name' | 'then'>;

/** A person who may vote in another person's place, and when. */
const DELEGATE = object(
  { name: TEXT },
  {
    /** ISO 8601. The first moment of the time. Absent: it has no beginning. */
    from: TEXT,
    /** ISO 8601. The moment after the time. Absent: it has no end. */
    until: TEXT,
  },
);

const PERSON = object(
  {
    name: TEXT,
    groups: NAMES,
    /** The people who may vote in this person's place. */
    delegates: fixed(DELEGATE),
  },
  {
    /** The person's mail address. It names the same person as `name`. */
    mail: TEXT,
  },
);

/** A person of the approvers file, with the fields that voting needs. */
export interface Voter extends Of<typeof PERSON> {}

/** The name of a person who sent a message without a name. */
export const SOMEBODY = 'somebody';

const CAST_VOTE = object(
  { voter: text(), decision: oneOf(['approved', 'denied']) },
  {
    /** The ids of the hunks that the vote approves. Absent: the whole call. */
    hunks: fixed(text()),
    /**
     * The kind of signature that came with the vote. Absent: there is no signature, so the name is only claimed. The
     * worker says whether the signature counts.
     */
    signedBy: oneOf(SIGNATURE_KINDS),
  },
);

/** One vote. A person who votes again replaces their earlier vote. */
export interface CastVote extends Of<typeof CAST_VOTE> {}

/** A vote, and when it was cast. The time decides whether its voter was a delegate. */
export interface DatedVote extends CastVote {
  /** ISO 8601. */
  at: string;
}

/**
 * The people who decide a call, and the rule for it, as the approvers file said when the call was asked about. Both are
 * frozen with the request. A changed file can only make them stricter.
 */
export interface Authority extends Of<typeof AUTHORITY> {}

/** An authority as it comes from an activity, which an operator can complete with anything. */
export const AUTHORITY = object(
  {
    /** SHA-256 (hex) of the file. */
    fileDigest: TEXT,
    /** SHA-256 (hex) of the rule. */
    ruleDigest: TEXT,
    rule: RULE,
    /**
     * The people whose messages the turn had taken up when it asked. If the approvers file names a person, this is the
     * name in the file. Empty: it is not known who asked.
     */
    requesters: NAMES,
  },
  {
    /**
     * The people whom the rule concerns. Absent: each person of the file may decide alone under the rule, and the file
     * has too many people to list.
     */
    people: fixed(PERSON, { maxItems: 1000 }),
    /**
     * Nobody decided in time, so the people whom the rule names for this case may decide, too. The workflow says so.
     * The worker believes it only if the server's history proves the time.
     */
    escalated: only(true),
  },
);

/** A vote as it is kept, with the digest of the request that it is about. */
export interface Vote extends DatedVote {
  decisionId: string;
  /** The digest of the request as the voter saw it. */
  seenDigest?: string;
  reason?: string;
  suggestion?: string;
  /** The signature on the vote. Only the worker can say whether it counts. */
  signature?: VoteSignature;
  /** The vote lets a call in doubt start once more. The signature covers this field. */
  runsAgain?: true;
}

/** The further fields with which a worker asks a person to look again. */
export const ASKED_AGAIN = { struck: list(TEXT), authority: AUTHORITY, mayHaveRun: only(true) };

const isAuthority = /* @__PURE__ */ guard(AUTHORITY);

/** Reads an authority that anybody may have written. Undefined: it cannot be read. */
export function readAuthority(value: unknown): Authority | undefined {
  return isAuthority(value) ? value : undefined;
}

/** The most people besides the requester whom a turn names. */
export const MOST_OTHERS = 1000;

export const VOTING = object(
  { votes: list(CAST_VOTE), needs: NEEDS },
  {
    /** Nobody decided in time, so more people may. */
    escalated: only(true),
    /** The people who may vote only since the request was escalated. Ten at most. */
    escalatedTo: list(text()),
    /** The rule's limits on who may vote. Absent: the memo has no room for this. */
    among: object(
      {
        /** See `VoteRule`. */
        rosters: list(list(text())),
      },
      {
        /**
         * The people who may not vote, because they asked for the turn. Empty: it is not known who asked. Absent: the
         * rule also lets people vote who asked for the turn.
         */
        notThese: list(text()),
      },
    ),
  },
);

/**
 * The votes on a call and the votes that it still needs, in short. Lists show this, and the memo of a turn holds it.
 */
export interface Voting extends Of<typeof VOTING> {}
