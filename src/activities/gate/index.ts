import { Context } from '@temporalio/activity';
import { RawValue } from '@temporalio/common';
import type { HeldInput, VerifyInput } from '../../contract/call';
import type { GateInput } from '../../contract/gate';
import { ACTIVITIES } from '../../contract/names';
import { untilNotHeld } from '../../authority/pauses/worker-hold';
import { verify } from '../check-doubt';
import { depsFor, type GateWorker, givenTool } from './gated-tools';
import { prepareForGate } from './prepare-gated';

/**
 * Our activities for calls of a user's own workflows. What they return is plain JSON, whatever converter the worker has.
 * `theirs`: the worker may run turns, too.
 */
export function gateActivities(
  worker: GateWorker,
  theirs: object = {},
): Record<string, (input: never) => Promise<unknown>> {
  const ofTurns: unknown = Reflect.get(theirs, ACTIVITIES.verify);
  return {
    [ACTIVITIES.gate]: async (input: GateInput) => new RawValue(await prepareForGate(worker, input)),
    [ACTIVITIES.held]: (input: HeldInput): Promise<void> => untilNotHeld(worker.deps, input),
    [ACTIVITIES.verify]: (input: VerifyInput): Promise<unknown> =>
      input.agent !== Context.current().info.workflowType && typeof ofTurns === 'function'
        ? ofTurns(input)
        : verifyGated(worker, input),
  };
}

async function verifyGated(worker: GateWorker, input: VerifyInput): Promise<RawValue> {
  const { workflowType = '' } = Context.current().info;
  const tools = [...worker.gated.values()].map((one) => one.toolFor(one.from && input.tool));
  const tool = tools.find(({ name }) => name === input.tool) ?? givenTool(input.tool, {});
  return new RawValue(await verify(depsFor(worker, workflowType, tool), { ...input, agent: workflowType }));
}
