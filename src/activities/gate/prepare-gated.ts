import { ApplicationFailure, Context } from '@temporalio/activity';
import { isValidCall, type ValidCall } from '../../contract/call';
import { GATE_FAILURES, type GateInput } from '../../contract/gate';
import type { PrepareOutput } from '../../contract/think';
import { renewalRefusal } from '../ask-again';
import { leaveToAnother } from '../leave-to-another';
import { aboutTurn } from '../execute';
import { prepareCall } from '../prepare-call';
import { depsFor, type GateWorker, givenTool } from './gated-tools';

/** The activity `countersign.gate`: makes a call of a user's own workflow ready to run or to be asked about. */
export async function prepareForGate(worker: GateWorker, input: GateInput): Promise<PrepareOutput> {
  const { workflowType: agent = '' } = Context.current().info;
  const { callId, raw, gated, settings, given = {} } = input;
  const own = worker.gated.get(gated ?? settings.gate.activity ?? '');
  if (gated !== undefined && own === undefined)
    throw leaveToAnother(worker.deps, `the plugin of the worker that took this does not gate ${gated}`);
  const name = own?.args === undefined && own?.from === undefined ? own?.toolFor().name : null;
  // `gate.run` gives the activity one object and a key, and the activity's own name of its tool is what the rules know.
  if (gated === undefined && name !== undefined && name !== input.tool)
    throw ApplicationFailure.nonRetryable(
      name === null ? ONLY_BY_PLUGIN : `the plugin gates this activity as the tool ${name}`,
      GATE_FAILURES.refused,
    );
  const tool = own?.toolFor(gated && input.tool) ?? givenTool(input.tool ?? '', given);
  const deps = depsFor(worker, agent, tool);
  const asked = { callId, id: callId, tool: tool.name, raw };
  const unfit = await renewalRefusal(deps.approvers, { ...input, ...asked, agent });
  if (unfit !== undefined) return { call: unfit };
  const call = await prepareCall(deps.agent, asked, { ...deps, about: aboutTurn({ agent }) });
  if (!isValidCall(call)) return { call };
  const hasSchema = own?.hasSchema ?? given.schema !== undefined;
  return { call: asAsked(call, input), schema: hasSchema ? tool.schema : undefined };
}

const ONLY_BY_PLUGIN = '`gate.run` cannot run an activity that the plugin gates with `args` or `from`';

/** Times and retries are those of the workflow. A workflow that asks in its code always asks. */
function asAsked(call: ValidCall, { settings, gated, given }: GateInput): ValidCall {
  const { policyReason = given?.reason } = call;
  const kind = gated === undefined ? 'ask' : call.kind;
  return { ...call, kind, policyReason, settings: { ...call.settings, ...settings } };
}
