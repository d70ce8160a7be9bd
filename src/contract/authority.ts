import type { SignatureKind, VoteSignature, VotesNeeded } from './decision';
import { guard } from './schema/message';
import { flag, integer, only, list, object, oneOf, type Shape, text } from './schema/shape';
import { MS } from './tool';

/** How sure it is that the named person cast a vote. The weakest comes first. */
export const ASSURANCES = ['claimed', 'signed_in', 'signed', 'signed_ssh'] as const;

export type Assurance = (typeof ASSURANCES)[number];

/** The action of a rule for a call. `by_safety`: dangerous calls ask, others run. */
const RULE_ACTIONS = ['run', 'ask', 'refuse', 'by_safety'] as const;

export type RuleAction = (typeof RULE_ACTIONS)[number];

/**
 * The conditions of a rule under which people decide. They are plain data, so that a request can freeze them. Two rules
 * can be joined, and then each roster has to name a voter.
 */
export interface VoteRule {
  /** Names of people and `group:<name>`. A voter has to be in every roster. Without a roster, anybody may vote. */
  rosters: readonly (readonly string[])[];
  /** The number of people who have to approve. */
  need: number;
  /** Groups that all have to approve. Each group needs the vote of a different person. */
  groups: readonly string[];
  /** The people who asked for the turn may not vote, and neither may their delegates. */
  notRequester: boolean;
  /** The number of denials that deny the call. */
  denyNeeds: number;
  assurance: Assurance;
  /** The time until a request expires. Absent: the tool sets it. */
  expiresMs?: number;
  escalate?: { afterMs: number; to: readonly string[] };
}

/** A rule as it is frozen. */
export interface RuleSnapshot extends VoteRule {
  name: string;
  then: RuleAction;
}

/** A person of the approvers file, with the fields that voting needs. */
export interface Voter {
  name: string;
  groups: readonly string[];
  /** The people who may vote in this person's place. */
  delegates: readonly Delegate[];
  /** The person's mail address. It names the same person as `name`. */
  mail?: string;
}

/** A person who may vote in another person's place, and when. */
export interface Delegate {
  name: string;
  /** ISO 8601. The first moment of the time. Absent: it has no beginning. */
  from?: string;
  /** ISO 8601. The moment after the time. Absent: it has no end. */
  until?: string;
}

/** The name of a person who sent a message without a name. */
export const SOMEBODY = 'somebody';

/** One vote. A person who votes again replaces their earlier vote. */
export interface CastVote {
  voter: string;
  decision: 'approved' | 'denied';
  /** The ids of the hunks that the vote approves. Absent: the whole call. */
  hunks?: readonly string[];
  /**
   * The kind of signature that came with the vote. Absent: there is no signature, so the name is only claimed. The
   * worker says whether the signature counts.
   */
  signedBy?: SignatureKind;
}

/** A vote, and when it was cast. The time decides whether its voter was a delegate. */
export interface DatedVote extends CastVote {
  /** ISO 8601. */
  at: string;
}

/**
 * The people who decide a call, and the rule for it, as the approvers file said when the call was asked about. Both are
 * frozen with the request. A changed file can only make them stricter.
 */
export interface Authority {
  /** SHA-256 (hex) of the file. */
  fileDigest: string;
  /** SHA-256 (hex) of the rule. */
  ruleDigest: string;
  rule: RuleSnapshot;
  /**
   * The people whom the rule concerns. Absent: each person of the file may decide alone under the rule, and the file
   * has too many people to list.
   */
  people?: readonly Voter[];
  /**
   * Nobody decided in time, so the people whom the rule names for this case may decide, too. The workflow says so. The
   * worker believes it only if the server's history proves the time.
   */
  escalated?: true;
  /**
   * The people whose messages the turn had taken up when it asked. If the approvers file names a person, this is the
   * name in the file. Empty: it is not known who asked.
   */
  requesters: readonly string[];
}

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

const TEXT = text({ maxLength: 1000 });
const NAMES = list(TEXT);
const COUNT = integer({ minimum: 1, maximum: 1000 });

const RULE: Shape<RuleSnapshot> = object(
  {
    name: TEXT,
    then: oneOf(RULE_ACTIONS),
    rosters: list(NAMES),
    need: COUNT,
    groups: NAMES,
    notRequester: flag(),
    denyNeeds: COUNT,
    assurance: oneOf(ASSURANCES),
  },
  { expiresMs: MS, escalate: object({ afterMs: MS, to: NAMES }) },
);
const DELEGATE = object({ name: TEXT }, { from: TEXT, until: TEXT });
const PERSON: Shape<Voter> = object({ name: TEXT, groups: NAMES, delegates: list(DELEGATE) }, { mail: TEXT });

/** An authority as it comes from an activity, which an operator can complete with anything. */
export const AUTHORITY: Shape<Authority> = object(
  { fileDigest: TEXT, ruleDigest: TEXT, rule: RULE, requesters: NAMES },
  { people: list(PERSON, { maxItems: 1000 }), escalated: only(true) },
);

/** The further fields with which a worker asks a person to look again. */
export const ASKED_AGAIN = { struck: NAMES, authority: AUTHORITY, mayHaveRun: only(true) };

const isAuthority = /* @__PURE__ */ guard(AUTHORITY);

/** Reads an authority that anybody may have written. Undefined: it cannot be read. */
export function readAuthority(value: unknown): Authority | undefined {
  return isAuthority(value) ? value : undefined;
}

/** The most people besides the requester whom a turn names. */
export const MOST_OTHERS = 1000;

/**
 * The votes on a call and the votes that it still needs, in short. Lists show this, and the memo of a turn holds it.
 */
export interface Voting {
  votes: CastVote[];
  needs: VotesNeeded;
  /** Nobody decided in time, so more people may. */
  escalated?: true;
  /** The people who may vote only since the request was escalated. Ten at most. */
  escalatedTo?: string[];
  /** The people whose votes may count. Absent: the memo has no room for this. */
  among?: VotersSought;
}

/** The rule's limits on who may vote. Who is in a group is read from today's approvers file. */
interface VotersSought {
  /** See `VoteRule`. */
  rosters: string[][];
  /**
   * The people who may not vote, because they asked for the turn. Empty: it is not known who asked. Absent: the rule
   * also lets people vote who asked for the turn.
   */
  notThese?: string[];
}
