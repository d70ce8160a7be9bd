import { countVotesUnder } from '../authority/votes/count-votes';
import { isAssured } from '../authority/rules/stricter-rule';
import { isAtLeast, type Role } from '../authority/rules/permits';
import { assuranceWanted, voterIn, votingOf, whyMayNot } from '../authority/votes/voters';
import type { Assurance, CastVote } from '../contract/authority';
import { type ResolutionKind, RESOLUTIONS } from '../contract/decision';
import type { ChangedTool } from '../contract/worker-tools';
import { authorityOn } from './labels';
import { type CallView, type TurnView, waitingEvent } from './view-types';

/** What a person may do about a call that waits. `hunks`: approve only some of the hunks. */
export type Offer =
  'approve' | 'deny' | 'edit' | 'hunks' | 'grant' | 'withdraw' | 'ask-again' | 'answer' | ResolutionKind;

/** The person who looks at a call. */
export interface Onlooker {
  /** The name under which the person is signed in. */
  user: string;
  role: Role;
  /** How sure it is, at most, that this person said what they say here. */
  signs: Assurance;
}

/** What a person may do about a call, and why they may not approve it. */
export interface Offers {
  offers: Offer[];
  /** Set if a person of this role could decide, but this person may not. */
  whyNot?: string;
  /** The vote of the person. They may withdraw it until the last vote is there. */
  ownVote?: CastVote['decision'];
  /** The names of the people who may vote and have not voted. Absent: no rule names them. */
  votersLeft?: readonly string[];
  /** How many votes the call needs from now on. Absent: no rule says who decides. */
  votesMissing?: number;
}

/** What only the worker or the clock knows about a call. */
interface Now {
  /** Milliseconds since 1970. */
  now: number;
  /** The tool has changed since the request, so that an approved call would not run. */
  changed?: ChangedTool['now'];
}

/**
 * What a person may do about a call of a turn. The turn takes each of these from this person now, and the worker lets
 * an approved call start.
 */
export function offersOn(
  view: Pick<TurnView, 'cancelRequested'>,
  call: CallView,
  who: Onlooker,
  at: Now,
): Offers {
  const waits = waitingEvent(call);
  if (waits === undefined || !isAtLeast(who.role, 'approver')) return { offers: [] };
  const isCancelled = view.cancelRequested;
  if (waits.type === 'in_doubt') return resolutionsOn(call, who, { ...at, isCancelled });
  const { deadline } = waits;
  if (isCancelled || (deadline !== null && Date.parse(deadline) <= at.now)) return { offers: [] };
  return waits.type === 'question_opened' ? { offers: ['answer'] } : decisionsOn(call, who, at);
}

function resolutionsOn(
  call: CallView,
  { user }: Onlooker,
  { now, isCancelled }: Now & { isCancelled: boolean },
): Offers {
  const authority = authorityOn(call);
  const whyNot = authority && whyMayNot(authority, { approver: user, now }, call.votes);
  if (whyNot !== undefined) return { offers: [], whyNot };
  return { offers: RESOLUTIONS.filter((kind) => kind !== 'run-again' || !isCancelled) };
}

function decisionsOn(call: CallView, { user, role, signs }: Onlooker, { now, changed }: Now): Offers {
  const { request, votes } = call;
  const authority = authorityOn(call);
  if (request === undefined) return { offers: [] };
  // If another workflow asks, only that workflow can ask again.
  const isOfTurn = request.byGate !== true && request.unowned !== true;
  const again: Offer[] = authority !== undefined && isOfTurn && isAtLeast(role, 'admin') ? ['ask-again'] : [];
  const whyNot = authority && whyMayNot(authority, { approver: user, now }, votes);
  const own = authority && votes.find(({ voter }) => voter === voterIn(authority, user));
  const count = authority && countVotesUnder(authority, votes, now);
  const left = { votesMissing: count?.missing, votersLeft: count?.mayVote };
  if (authority !== undefined && own !== undefined && votingOf(authority, own.voter, Date.parse(own.at)).ok) {
    return { offers: ['withdraw', ...again], ownVote: own.decision, ...left };
  }
  if (whyNot !== undefined) return { offers: again, whyNot, ...left };
  const wanted = assuranceWanted(authority, 'approved') ?? 'claimed';
  const isSigned = isAssured(signs, wanted);
  const approved = votes.some(({ decision }) => decision === 'approved');
  const mayRun = isSigned && changed === undefined;
  const offers: (Offer | false)[] = [
    mayRun && 'approve',
    'deny',
    request.schema !== undefined && changed === undefined && 'edit',
    // Votes count together only for the same hunks.
    mayRun && !approved && (request.preview?.plan?.hunks.length ?? 0) > 1 && 'hunks',
    mayRun && isOfTurn && request.grants !== 'none' && 'grant',
    ...again,
  ];
  const unsigned = isSigned ? undefined : `its rule wants decisions ${wanted.replaceAll('_', ' ')}`;
  return { offers: offers.filter((one) => one !== false), whyNot: unsigned, ...left };
}
