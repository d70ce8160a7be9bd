import { claimGrant, voidGrant } from '../../authority/grants/worker-claim';
import { pausedCall } from '../../authority/pauses/worker-hold';
import type { ActivityDeps } from '../deps';
import { spentBefore } from '../earlier-start';
import { ranBefore } from '../execute';
import { mayHaveRunBeforeReset, ownEvents, voidDecision } from '../reset-history';
import { startedBefore } from '../run-unsafe';
import { asApproved, noteRules } from './as-approved';
import { asShown } from './as-shown';
import { allowedOf, type StartingCall, type Stop } from './starting-call';

/** A check of a call that is about to start. Undefined: the call may go on. */
export type StartCheck = (
  call: StartingCall,
  worker: ActivityDeps,
) => Promise<Stop | undefined> | Stop | undefined;

/** The checks before a call starts. The order is a part of what they promise. A feature adds its own here. */
const START_CHECKS: readonly StartCheck[] = [
  // What is said of a call that does not start depends on it.
  noteResetRun,
  // The server answers while the rules are asked.
  readAhead,
  // Asking may take long, and the machine may be frozen meanwhile. So everything that has to hold at the start is looked
  // at after it, and what the rules say counts only at `asApproved`.
  noteRules,
  // A tool that has changed or is gone does not undo a start, so this is before the tool counts.
  notStartedBefore,
  toolIsHere,
  asApproved,
  asShown,
  signaturesUnspent,
  decidedInThisRun,
  // A call whose grant does not count goes to a person. A pause does not hold it then, so this is before the pauses.
  grantHolds,
  // The checks before may have taken some time.
  notPaused,
  // A use of a grant is spent only on a call that nothing else stops.
  claimsGrant,
  // Claiming took some time.
  notPausedSinceClaim,
];

/** Makes the checks one after the other. Returns what the first of them said that stops the call. */
export async function whatStops(
  call: StartingCall,
  worker: ActivityDeps,
  checks: readonly StartCheck[] = START_CHECKS,
): Promise<Stop | undefined> {
  for (const check of checks) {
    // An await costs a worker more than most checks, so only what is not there yet is awaited.
    const said = check(call, worker);
    const stop = said instanceof Promise ? await said : said;
    if (stop !== undefined) return stop;
  }
  return undefined;
}

/**
 * Asks the server while the signatures are checked. The check of pauses uses its answer if that is less than a second
 * old. Whether the signatures were spent is asked only where the rule wants them.
 */
function readAhead({ input }: StartingCall, worker: ActivityDeps) {
  if (input.decision?.votes?.some(({ signature }) => signature !== undefined) !== true) return undefined;
  void pausedCall(worker, input, false);
  if (input.authority?.rule.assurance !== 'claimed') void ownEvents();
  return undefined;
}

function notStartedBefore(call: StartingCall, worker: ActivityDeps): Promise<Stop | undefined> | undefined {
  const isUnsafe = call.input.effect === 'unsafe' || call.registered?.tool.effect === 'unsafe';
  return isUnsafe ? startedBefore(worker, call) : undefined;
}

function toolIsHere({ registered, lack }: StartingCall): Stop | undefined {
  return registered === undefined ? { lack } : undefined;
}

function notPaused({ input }: StartingCall, worker: ActivityDeps): ReturnType<typeof pausedCall> {
  return pausedCall(worker, input, ranBefore(input));
}

function notPausedSinceClaim(call: StartingCall, worker: ActivityDeps): ReturnType<StartCheck> {
  return call.startedBy.grant === undefined ? undefined : notPaused(call, worker);
}

/** Notes whether a run before a reset may have run the call. */
async function noteResetRun(call: StartingCall): Promise<undefined> {
  if (await mayHaveRunBeforeReset(call.input)) call.input = { ...call.input, mayHaveRun: true };
}

/** The signatures of a call start it once. */
function signaturesUnspent(call: StartingCall, worker: ActivityDeps): Promise<Stop | undefined> | undefined {
  return allowedOf(call).isSigned ? spentBefore(worker, call.input) : undefined;
}

/** A decision counts for one run of the turn. For an unsafe call, the search for an earlier start says more. */
async function decidedInThisRun({ input, registered }: StartingCall): Promise<Stop | undefined> {
  const why = registered?.tool.effect === 'unsafe' ? undefined : await voidDecision(input);
  return why === undefined ? undefined : { askAgain: why };
}

/** Whether the grant that the call names would let it start. Claims nothing. */
function grantHolds(call: StartingCall, { grants }: ActivityDeps): Promise<Stop | undefined> | undefined {
  const { granted } = allowedOf(call);
  return granted && voidGrant(grants, call.input, granted);
}

/** Claims a use of the grant that lets the call start. */
async function claimsGrant(call: StartingCall, { grants }: ActivityDeps): Promise<Stop | undefined> {
  const { granted } = allowedOf(call);
  const grant = granted && (await claimGrant(grants, call.input, granted));
  if (grant === undefined || !('use' in grant)) return grant;
  call.startedBy.grant = grant;
  return undefined;
}
