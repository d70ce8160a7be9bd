import { claimGrant, voidGrant } from '../../authority/grants/worker-claim';
import type { ActivityDeps } from '../deps';
import { allowedOf, type StartingCall, type Stop } from './starting-call';

/** Whether the grant that the call names would let it start. Claims nothing. */
export async function grantHolds(call: StartingCall, { grants }: ActivityDeps): Promise<Stop | undefined> {
  const { granted } = allowedOf(call);
  return granted && voidGrant(grants, call.input, granted);
}

/** Claims a use of the grant that lets the call start. */
export async function claimsGrant(call: StartingCall, { grants }: ActivityDeps): Promise<Stop | undefined> {
  const { granted } = allowedOf(call);
  const grant = granted && (await claimGrant(grants, call.input, granted));
  if (grant === undefined || !('use' in grant)) return grant;
  call.startedBy.grant = grant;
  return undefined;
}
