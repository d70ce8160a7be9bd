import { Context } from '@temporalio/activity';
import { RawValue } from '@temporalio/common';
import type { HeldInput, VerifyInput } from '../../contract/call';
import type { GateInput } from '../../contract/gate';
import { ACTIVITIES } from '../../contract/names';
import { untilNotHeld } from '../../authority/pauses/worker-hold';
import { verify } from '../check-doubt';
import { isScheduleOf, ownEvents } from '../reset-history';
import type { Tool } from '../../tools/types';
import { depsFor, type GateTarget, type GateWorker, givenTool } from './gated-tools';
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
    [ACTIVITIES.held]: (input: HeldInput) => untilNotHeld(worker.deps, input),
    [ACTIVITIES.verify]: (input: VerifyInput): Promise<unknown> =>
      input.agent !== Context.current().info.workflowType && typeof ofTurns === 'function'
        ? ofTurns(input)
        : verifyGated(worker, input),
  };
}

async function verifyGated(worker: GateWorker, input: VerifyInput): Promise<RawValue> {
  const { workflowType = '' } = Context.current().info;
  const toolOf = (one: GateTarget): Tool => one.toolFor(one.from && input.tool);
  const fitting = [...worker.gated].filter(([, one]) => toolOf(one).name === input.tool);
  // One activity may be for tools of any names. The wrong tool must not prove anything.
  const type = fitting.length > 1 ? await typeOf(input).catch(() => undefined) : fitting[0]?.[0];
  const found = fitting.find(([name]) => name === type)?.[1];
  const tool = found === undefined ? givenTool(input.tool, {}) : toolOf(found);
  return new RawValue(await verify(depsFor(worker, workflowType, tool), { ...input, agent: workflowType }));
}

/** The type of the activity as which a call was started. */
async function typeOf(input: VerifyInput) {
  for (const event of await ownEvents())
    if (await isScheduleOf(event, input))
      return event.activityTaskScheduledEventAttributes?.activityType?.name;
  return undefined;
}
