import { isDenial } from '../../contract/decision';
import { RAISE_BUDGET } from '../../contract/names';
import type { PolicyAction } from '../../contract/authority/policy';
import type { JsonObject } from '../../contract/json';
import { defined } from '../../contract/defined';
import type { RequestOpened } from '../../history/call-events';
import { describePhase } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';

/** A call of a past turn, and the decision on it. */
export interface PastCall {
  turn: string;
  callId: string;
  agent: string;
  tool: string;
  /** The arguments that the policy saw: the model's arguments with defaults filled in. */
  args: JsonObject;
  /** How the policy decided the call: it ran, a person was asked, or it was refused without asking a person. */
  was: PolicyAction;
  /** The end of the call, in words. */
  outcome: string;
  /**
   * `clean`: the call was approved unchanged and succeeded. `spoiled`: the call was denied, edited, failed, in doubt or
   * the like. `open`: neither of these so far.
   */
  ending: 'clean' | 'spoiled' | 'open';
  /** The people whose approval of the last request holds. */
  approvers: readonly string[];
  /** The time when the model asked for the call, in ISO 8601. */
  at: string;
  request?: RequestOpened;
}

/**
 * The calls of a turn that a policy decides on. Questions, invalid calls and calls whose results a fork copied from the
 * original turn are left out.
 */
export function pastCalls(view: TurnView): PastCall[] {
  const { turn, agent } = view;
  const asked = new Map(view.steps.map(({ step, repliedAt }) => [step, repliedAt]));
  return view.calls.flatMap((call) => {
    const was = decidedOn(call);
    if (was === undefined) return [];
    const { callId, tool, arguments: args, request } = call;
    const at = asked.get(call.step) ?? view.startedAt;
    const approvers = approversOf(call);
    const [outcome] = describePhase(call);
    const facts = {
      turn,
      callId,
      agent,
      tool,
      args,
      was,
      outcome,
      ending: endingOf(call, was),
      approvers,
      at,
    };
    return { ...facts, ...defined({ request }) };
  });
}

function decidedOn({
  tool,
  given,
  question,
  request,
  result,
  startedAt,
}: CallView): PolicyAction | undefined {
  if (tool === RAISE_BUDGET || given === true || question !== undefined) return undefined;
  if (request !== undefined) return request.unowned === true ? undefined : 'ask';
  if (startedAt !== undefined || result?.success === true) return 'run';
  return result?.error?.code === 'refused' ? 'refuse' : undefined;
}

/**
 * The people whose approvals still hold. A person can withdraw a vote, and a worker can find that a decision does not
 * hold.
 */
function approversOf({ request, votes, settledBy }: CallView): string[] {
  if (request?.authority !== undefined)
    return votes.flatMap(({ voter, decision }) => (decision === 'approved' ? voter : []));
  return settledBy === undefined || isDenial(settledBy) ? [] : [settledBy.approver];
}

function acceptedOn({ decisions }: CallView): CallView['decisions'] {
  return decisions.filter(({ judgement }) => judgement.accepted === true);
}

function endingOf(call: CallView, was: PolicyAction): PastCall['ending'] {
  const { result, doubt, resolutions, late, request } = call;
  if (doubt !== undefined || resolutions.length > 0 || late.length > 0) return 'spoiled';
  const decisions = acceptedOn(call);
  const isEdited = decisions.some(({ decision, hunks }) => decision === 'modified' || hunks !== undefined);
  if (isEdited || request?.edit !== undefined || decisions.some(isDenial)) return 'spoiled';
  if (result === undefined) return call.phase === 'expired' || call.phase === 'closed' ? 'spoiled' : 'open';
  if (!result.success) return 'spoiled';
  return was === 'ask' && decisions.length > 0 ? 'clean' : 'open';
}
