import { RAISE_BUDGET } from '../../contract/names';
import type { PolicyAction } from '../../contract/policy-rule';
import type { JsonObject } from '../../contract/json';
import type { RequestOpened } from '../../history/events';
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
  request?: RequestOpened;
}

/**
 * The calls of a turn that a policy decides on. Questions, invalid calls and calls whose results a fork copied from the
 * original turn are left out.
 */
export function pastCalls(view: TurnView): PastCall[] {
  const { turn, agent } = view;
  return view.calls.flatMap((call) => {
    const was = decidedOn(call);
    if (was === undefined) return [];
    const { callId, tool, arguments: args, request } = call;
    const [outcome] = describePhase(call);
    return { turn, callId, agent, tool, args, was, outcome, request };
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
  if (tool === RAISE_BUDGET || given === true || question) return undefined;
  if (request) return request.unowned === true ? undefined : 'ask';
  if (startedAt !== undefined || result?.success === true) return 'run';
  return result?.error?.code === 'refused' ? 'refuse' : undefined;
}
