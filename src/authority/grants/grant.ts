import { reasonProblem } from '../../contract/call-texts';
import { DAY, LIMITS, TIMES } from '../../contract/limits';
import { utf8Bytes } from '../../contract/text/bytes';
import type { Of } from '../../contract/schema/shape';
import type { GRANT_ASKED, GRANT_SHOWN, GRANT_TERMS, REVOKE_ASKED } from './grant-schemas';
import { narrowingProblem } from './narrowing';

/**
 * The terms by which somebody allows calls of one tool by one agent in advance. A grant holds only while its tool and
 * its rules stay the same. A signature covers all fields.
 */
export interface GrantTerms extends Of<typeof GRANT_TERMS> {}

/** A grant as a client sends it. */
export interface GrantAsked extends Of<typeof GRANT_ASKED> {}

/** A grant in the memo of its workflow, without the people who have to confirm it and without its uses. */
export interface GrantShown extends Of<typeof GRANT_SHOWN> {}

/** A grant as its workflow keeps it. */
export interface Grant extends GrantAsked, Omit<GrantShown, 'needsOthers'> {
  /** The number of uses that are claimed. */
  used: number;
}

/** A grant as it is listed. */
export type GrantSeen = Omit<Grant, 'revoked'>;

/** All grants, for people. */
export interface GrantsSeen {
  grants: GrantSeen[];
}

/** Takes back one grant, or all grants. */
export interface RevokeAsked extends Of<typeof REVOKE_ASKED> {
  /** Absent: all grants that are listed end. */
  id?: string;
}

export interface Revoked {
  /** The grants that were ended. */
  ended: GrantTerms[];
  /** No worker answered for some of them. They end as soon as a worker runs, before any call can claim a use. */
  recorded?: true;
}

/** Why a change was refused. */
export interface GrantRefused {
  code: 'malformed' | 'refused' | 'full' | 'not_found' | 'grant_void';
  message: string;
}

/** The message for a grant that is not there. */
export const noGrantText = (id: string) => `there is no grant ${id}`;

/** The grant that a workflow was started for, or why it cannot be given. */
export function takeGrant(asked: GrantAsked, now: number): Grant | GrantRefused {
  const grant: Grant = { ...asked, takenAt: new Date(now).toISOString(), used: 0 };
  return whyNotTaken(asked, now) ?? whyFull(grant) ?? grant;
}

/**
 * Why a text cannot be the reason for a pause, a grant or an absence, or for the end of one. Undefined if it can. No
 * reason is fine.
 */
export function reasonIssue(text = ''): string | undefined {
  if (utf8Bytes(text) > LIMITS.pauseReasonBytes)
    return `the reason has over ${LIMITS.pauseReasonBytes} bytes`;
  const problem = reasonProblem(text);
  return problem && `the reason cannot be taken: ${problem}`;
}

/** The refusal of a grant that would hold too long. */
export const GRANT_TOO_LONG = `a grant holds for at most ${TIMES.grantMost / DAY} days`;

function whyNotTaken(asked: GrantAsked, now: number): GrantRefused | undefined {
  const { at, until, times, reason, narrowing } = asked;
  const [given, ends] = [Date.parse(at), Date.parse(until)];
  const wrong = narrowingProblem(narrowing) ?? reasonIssue(reason);
  if (wrong !== undefined) return refuseGrant('malformed', wrong);
  if (times > LIMITS.grantTimes)
    return refuseGrant('malformed', `a grant is for at most ${LIMITS.grantTimes} calls`);
  if (given > now + TIMES.clockSkew)
    return refuseGrant('refused', 'it is dated in the future: the clock of who gives it is wrong');
  if (ends <= now || ends <= given) return refuseGrant('refused', 'it would be over already');
  if (ends - given > TIMES.grantMost || ends - now > TIMES.grantMost + TIMES.clockSkew)
    return refuseGrant('refused', GRANT_TOO_LONG);
  return undefined;
}

/** The refusal if a grant with its votes does not fit the memo that everybody reads. */
export function whyFull(grant: Grant): GrantRefused | undefined {
  const size = utf8Bytes(JSON.stringify(shownOf(grant)));
  return size > LIMITS.grantBytes
    ? refuseGrant('full', `a grant with its votes has at most ${LIMITS.grantBytes} bytes, not ${size}`)
    : undefined;
}

export function refuseGrant(code: GrantRefused['code'], message: string): GrantRefused {
  return { code, message };
}

/** Takes back a grant, for good. */
export function revokeGrant(grant: Grant, { reason }: Pick<RevokeAsked, 'reason'>): Grant | GrantRefused {
  const wrong = reasonIssue(reason);
  return wrong === undefined ? { ...grant, revoked: true } : refuseGrant('malformed', wrong);
}

/** Why a grant allows nothing any more. Undefined: it has not ended. */
export function whyEnded(
  { until, revoked }: Pick<Grant, 'until' | 'revoked'>,
  now: number,
): string | undefined {
  if (revoked === true) return 'it was revoked';
  return Date.parse(until) > now ? undefined : `it ended at ${until}`;
}

/** A grant as the memo of its workflow shows it. */
export function shownOf({ authority, used: _, ...grant }: Grant): GrantShown {
  return authority === undefined ? grant : { ...grant, needsOthers: true };
}
