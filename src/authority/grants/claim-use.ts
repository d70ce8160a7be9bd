import type { Of } from '../../contract/schema/shape';
import type { USE_ASKED, USE_TAKEN } from './grant-schemas';
import { lackingOn } from './grant-votes';
import { type GrantTerms, type Grant, type GrantRefused, refuseGrant, whyEnded } from './grant';

/** The question of a worker whether a call may start by a grant. All fields describe the call, as the worker knows it. */
export interface UseAsked extends Of<typeof USE_ASKED> {}

/** A use of a grant that was claimed. */
export interface UseTaken extends Of<typeof USE_TAKEN> {}

/** Claims one use for a call. The server gives a call that claims again the same answer, so its use counts once. */
export function claimUse(grant: Grant, asked: UseAsked, now: number): Grant | GrantRefused {
  const lacking = lackingOn(grant, now);
  const why =
    whyEnded(grant, now) ?? whyOther(grant, asked) ?? (lacking && `it is not confirmed: ${lacking}`);
  if (why !== undefined) return refuseGrant('grant_void', why);
  if (grant.used < grant.times) return { ...grant, used: grant.used + 1 };
  return refuseGrant(
    'grant_void',
    grant.times === 1 ? 'its one use is claimed' : `its ${grant.times} uses are claimed`,
  );
}

/** Why a grant is not for this call, apart from the arguments. Undefined: the grant is for this call. */
export function whyOther(grant: GrantTerms, call: UseAsked): string | undefined {
  if (grant.tool !== call.tool || grant.agent !== call.agent) return 'it is for another tool or agent';
  if (grant.toolDigest !== call.toolDigest) return 'the tool changed since it was given';
  const isRule = grant.ruleDigest === call.ruleDigest && grant.policyDigest === call.policyDigest;
  return isRule ? undefined : 'the rule changed since it was given, or another one fits';
}
