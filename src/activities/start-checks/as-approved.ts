import { askRules, ruleOwner } from '../../authority/rules/worker-verdict';
import { requestersOf } from '../../authority/votes/requesters';
import { authorityOfCall, checkVotes, votesUnchecked } from '../../authority/votes/worker-check';
import type { CallInput, SpentDecision } from '../../contract/call';
import { digestJson, seenDigestOf } from '../../contract/digest';
import { dryKindOf } from '../../contract/dry-run';
import { describeIssues } from '../../contract/read-json';
import { validationFailure } from '../../contract/result';
import type { Issue } from '../../contract/tool';
import { sha256 } from '../../system/sha256';
import { policyRefusal } from '../../tools/function-policy';
import { unshownIn } from '../../tools/prepare';
import type { Tool } from '../../tools/types';
import type { ActivityDeps } from '../deps';
import { placeHere, requestTimes } from '../reset-history';
import type { Allowed, StartingCall, Stop } from './starting-call';

/** Notes what the rules, the tool and the approvers say. It stops nothing. */
export async function noteRules(call: StartingCall, worker: ActivityDeps): Promise<undefined> {
  if (call.registered !== undefined) call.asked = await recheck(call.registered, worker, call.input);
}

/** The call has to be what was approved, and the rules have to allow it still. */
export function asApproved(call: StartingCall): Stop | undefined {
  const { asked = { lack: call.lack } } = call;
  if (!('value' in asked)) return asked;
  call.startedBy.roster = asked.roster;
  return undefined;
}

/**
 * The last check before the handler. The tool, the arguments and the plan must be the ones that were approved. The
 * arguments must still fit, and the policy must still hold. A call that needs a decision must have one. A call in a dry
 * fork must change nothing. This attempt has run nothing yet, so a refusal is always safe. The caller has to consider
 * earlier attempts.
 */
async function recheck(
  { agent, tool }: NonNullable<StartingCall['registered']>,
  deps: Pick<ActivityDeps, 'approvers' | 'rules' | 'run'>,
  input: CallInput,
): Promise<Allowed | Stop> {
  const changed = whatChanged(tool, input);
  if (changed !== undefined) return refused(changed);
  const parsed = tool.parse(input.arguments);
  if (!parsed.ok) return unfit(input, parsed.issues);
  const unshown = input.decision === undefined ? undefined : unshownIn(input.arguments, parsed.value);
  if (unshown !== undefined)
    return refused(`the tool fills in ${unshown}, which nobody was shown; give it with the arguments`);
  const requesters = requestersOf(input.origin, input.authority);
  const call = { tool, args: input.arguments, value: parsed.value };
  const verdict = await askRules(ruleOwner(agent, deps), { ...call, requesters });
  if (verdict.decision === 'refuse') return { failure: policyRefusal(verdict) };
  const isGranted = input.decision === undefined && input.grant !== undefined;
  if (verdict.decision === 'ask' && input.decision === undefined && !isGranted)
    return refused('it needs a decision and has none');
  const { authority: own, file, ruling } = verdict;
  if (isGranted) {
    const known = authorityOfCall(own, input);
    if ('askAgain' in known) return { ...known, secret: input.secret };
    const { authority } = known;
    const about = { ...call, agent: agent.name, policyDigest: ruling?.digest };
    const isSigned = authority !== undefined && authority.rule.assurance !== 'claimed';
    return { value: parsed.value, isSigned, granted: { ...about, authority, file } };
  }
  try {
    const times = () => requestTimes(input);
    const votes = await checkVotes({ own, file, place: placeHere, times, now: Date.now() }, input);
    if ('askAgain' in votes) return votes;
    const { isSigned, roster } = votes;
    return { value: parsed.value, isSigned, roster };
  } catch (error) {
    return { lack: votesUnchecked(error) };
  }
}

/**
 * Arguments that do not fit. The person who changed them is asked again: the turn could only check them by the JSON
 * Schema, which says less than the tool's own check.
 */
function unfit({ decision, secret }: CallInput, issues: readonly Issue[]): Stop {
  if (decision?.decision !== 'modified') return { failure: validationFailure(issues) };
  const askAgain = `the new arguments do not fit: ${describeIssues(issues)}`;
  return { askAgain, secret };
}

/** What has changed since the call was prepared and approved, in words. Undefined if nothing has changed. */
function whatChanged(tool: Tool, input: CallInput) {
  if (tool.digest !== input.toolDigest)
    return 'the tool changed since this call was prepared, or this worker is set up otherwise; ask for it again';
  if (tool.effect !== input.effect)
    return `it was prepared as ${input.effect} and would run as ${tool.effect}; ask for it again`;
  const other = whatIsOther(input);
  if (other !== undefined) return other;
  const isDecided = input.decision !== undefined || input.grant !== undefined;
  const isOnlyRecorded = input.dry === true && dryKindOf(tool.effect, isDecided) !== undefined;
  return isOnlyRecorded ? 'its turn is a fork in a dry world' : undefined;
}

/** How the call differs from the call that was decided on, in words. Undefined if it does not differ. */
export function whatIsOther(input: CallInput): string | undefined {
  if (digestJson(input.arguments, sha256) !== input.argsDigest)
    return 'the arguments are not those that were approved';
  if (input.decision !== undefined && !isWhatWasSeen(input, input.decision))
    return 'it is not what was shown to the approver';
  return undefined;
}

/**
 * Whether the call is what the approver saw. The stored digest of the preview is used, because a new preview may
 * differ: see `asShown` for those that may not. The arguments and the plan are digested again.
 */
function isWhatWasSeen({ argsDigest, plan }: CallInput, decision: SpentDecision) {
  const { seenDigest, previewDigest } = decision;
  const shown = {
    argsDigest,
    previewDigest,
    planDigest: plan && digestJson(plan, sha256),
  };
  return seenDigestOf(shown, sha256) === seenDigest;
}

function refused(why: string): Stop {
  return { failure: { code: 'refused', message: `Refused before it ran: ${why}.` } };
}
