import type { Approvers } from '../rules/approvers-file';
import type { VoteJudgement } from '../signatures/vote-signature';
import type { CountedVote } from '../signatures/roster-lines';
import { errorMessage } from '../../contract/errors';
import { areSameHunks } from './count-votes';
import { countProvenVotes, UNCHECKED, type VoteProof } from './worker-count';
import type { Roster } from '../../contract/roster';
import type { AskAgain, CallInput, SpentDecision } from '../../contract/call';
import type { RequestTimes, SignedPlace } from '../../activities/reset-history';
import { type Authority, readAuthority, type Vote } from '../../contract/authority';
import { authorityNow, stricterAuthority } from './authority-in-force';

/** The data for checking votes. */
interface VoteCheck {
  /** The authority that this worker's own approvers file requires for a call. Absent: the call needs no votes. */
  own?: Authority;
  /** Absent: this worker has no approvers file, so no signature counts here. */
  file?: Approvers;
  /** The place of the call. Called only if a vote is signed. */
  place(): SignedPlace;
  /** Called only if somebody may have a vote for a limited time, or only after some time. */
  times(): Promise<RequestTimes>;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * The result of the check: the votes let the call run, with signatures if the rule needs them, or a person has to
 * look again.
 */
type CheckedVotes = { ok: true; isSigned: boolean; roster?: Roster } | AskAgain;

/**
 * The authority that decides a call. It joins this worker's own authority and the one in the call's input, so that the
 * stricter limits hold. `askAgain`: nobody can read the authority in the input.
 */
export function authorityOfCall(
  own: Authority | undefined,
  input: CallInput,
): { authority: Authority | undefined } | { askAgain: string } {
  if (input.authority === undefined) return { authority: own };
  const asked = readAuthority(input.authority);
  if (asked === undefined) return { askAgain: 'who decides it cannot be read' };
  return { authority: own === undefined ? asked : stricterAuthority(asked, own) };
}

/** Why votes that could not be checked count neither as valid nor as invalid. */
export function votesUnchecked(error: unknown): string {
  return `whose votes they are could not be checked: ${errorMessage(error)}`;
}

/**
 * The last check of the votes, right before the handler. This worker's own approvers file says what a call needs. The
 * input of the call can only add to that. Times come from the server's history: the input may name any. The result
 * names the votes that do not count, so that the other votes need not be cast again.
 *
 * @throws If `place` or `times` throws.
 */
export async function checkVotes(check: VoteCheck, input: CallInput): Promise<CheckedVotes> {
  const { own } = check;
  const { escalate } = own?.rule ?? {};
  const times = needsTimes(own, input) ? await check.times() : undefined;
  const isOverdue = times && escalate && times.scheduled - times.asked >= escalate.afterMs;
  const known = authorityOfCall(authorityNow(own, isOverdue), input);
  if ('askAgain' in known) return known;
  const { authority } = known;
  if (authority === undefined) return { ok: true, isSigned: false };
  const { secret, decision } = input;
  const votes = (decision?.votes ?? []).map((vote) => datedVote(vote, times));
  const judge = votes.some(({ signature }) => signature !== undefined)
    ? await judgeOf(check, input, authority)
    : undefined;
  const judged = new Map(votes.map((vote) => [vote, judge?.(vote)]));
  const { struck, count, why } = countProvenVotes(authority, votes, {
    proofOf: proofsBy(judged, decision),
    now: check.now,
  });
  if (struck.length === 0 && count.state === 'approved') {
    const roster = await rosterOf(check.file, judged);
    return { ok: true, isSigned: authority.rule.assurance !== 'claimed', roster };
  }
  return { askAgain: why, struck: struck.map(({ voter }) => voter), authority, secret };
}

/** Whether the rights of somebody depend on the time: by an escalation of the request, or by the dates of a delegate. */
function needsTimes(own: Authority | undefined, { authority }: CallInput) {
  const isDated = own?.people?.some(({ delegates }) => delegates.some(({ from, until }) => from ?? until));
  return isDated === true || (authority?.escalated === true && own?.rule.escalate !== undefined);
}

/** A vote with a time at which its request waited: nobody can have cast it before or after. */
function datedVote(vote: Vote, times: RequestTimes | undefined): Vote {
  if (times === undefined) return vote;
  const at = Math.max(times.asked, Math.min(times.scheduled, Date.parse(vote.at) || 0));
  return { ...vote, at: new Date(at).toISOString() };
}

/** The lines by which the votes that counted were checked. Undefined: no vote is signed. */
async function rosterOf(file: Approvers | undefined, judged: JudgedVotes) {
  const said = [...judged].filter(([vote]) => vote.signature !== undefined);
  if (file === undefined || said.length === 0) return undefined;
  const { rosterOf: rosterBy } = await import('../signatures/roster-lines.js');
  return rosterBy(
    file,
    said.map(([vote, by]): CountedVote => {
      const { voter, fingerprint } = by?.ok === true ? by : { voter: undefined, fingerprint: undefined };
      return { decisionId: vote.decisionId, voter: voter ?? vote.voter, fingerprint };
    }),
  );
}

/** The proof that a vote gives or, if its signature does not count, the reason. */
type Judged = Exclude<VoteJudgement, { ok: false }> | { ok: false; why: string };

/** The judgement of each vote. Undefined: this worker has no approvers file, or no vote is signed. */
type JudgedVotes = ReadonlyMap<Vote, Judged | undefined>;

/**
 * Makes the function that checks signatures. Undefined: this worker has no approvers file. The code is loaded only
 * if there is such a file.
 */
async function judgeOf(
  { file, place, now }: VoteCheck,
  input: CallInput,
  { requesters, ruleDigest }: Authority,
): Promise<((vote: Vote) => Judged) | undefined> {
  if (file === undefined) return undefined;
  const { callKey, generation, agent, tool, toolDigest, argsDigest: effectiveDigest, decision } = input;
  const facts = {
    installation: file.installation,
    ...place(),
    callKey,
    generation,
    agent,
    tool,
    toolDigest,
    effectiveDigest,
    ruleDigest,
    requesters,
    seenDigest: decision?.seenDigest ?? '',
  };
  const { assuranceOf, judgedVote, VOTE_FAULTS } = await import('../signatures/vote-signature.js');
  return (vote) => {
    const judged = assuranceOf(judgedVote(vote), { facts, approvers: file, now });
    return judged.ok ? judged : { ok: false, why: VOTE_FAULTS[judged.why] };
  };
}

function proofsBy(
  judgedVotes: JudgedVotes,
  decision: Pick<SpentDecision, 'seenDigest' | 'hunks'> | undefined,
): (vote: Vote) => VoteProof {
  return (vote) => {
    if (vote.decision !== 'approved') return { why: 'it is not an approval' };
    if (vote.seenDigest === undefined || vote.seenDigest !== decision?.seenDigest)
      return { why: 'it is for something else' };
    if (!areSameHunks(vote.hunks, decision.hunks))
      return { why: 'it is for other hunks than those that would run' };
    if (vote.signature === undefined) return { assurance: 'claimed' };
    const judged = judgedVotes.get(vote);
    if (judged === undefined) return { assurance: 'claimed', unchecked: UNCHECKED };
    return judged.ok ? judged : { why: `its signature is refused: ${judged.why}` };
  };
}
