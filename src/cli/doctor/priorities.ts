import { msToTs } from '@temporalio/common/lib/time';
import { temporal } from '@temporalio/proto';
import type { Countersign } from '../../client';
import type { Finding } from './machine';
import { COMPLETE, createProbe, orSkipped } from './transition';

/**
 * The activities of the backlog, in the order in which they are scheduled. A server spreads a queue over partitions,
 * four by default, and keeps the order only within each partition. So the batch is large enough that each partition has some
 * of it before the other activities.
 */
const BACKLOG = [
  { type: 'batch', count: 100, priority: { priorityKey: 3, fairnessKey: 'a' } },
  { type: 'tenant', count: 16, priority: { priorityKey: 3, fairnessKey: 'b' } },
  { type: 'decided', count: 4, priority: { priorityKey: 1, fairnessKey: 'a' } },
] as const;
const [BATCH, TENANT, DECIDED] = BACKLOG;

/**
 * The number of activities that are taken. Without priorities and fairness, the first ones are all batch work. *Measured*
 * with four partitions: without fairness at most 1 activity of the second tenant is among them, and with it at least 6.
 */
export const TAKEN = 32;
const OVERTAKING = DECIDED.count / 2;
const SHARING = TENANT.count / 4;

/** The time after which an activity of an interrupted check ends. */
const ACTIVITY_MS = 60_000;

const NAME = 'priorities';

/** Makes a backlog, and looks at what the server gives out first. */
export async function checkPriorities(client: Countersign): Promise<Finding> {
  return orSkipped(NAME, 'could not be tried', async () => judgeOrder(await takeBacklog(client)));
}

/** The finding for the types of the activities that came first. */
export function judgeOrder(taken: readonly string[]): Finding {
  const countOf = (type: string): number => taken.filter((one) => one === type).length;
  if (countOf(DECIDED.type) < OVERTAKING)
    return {
      name: NAME,
      state: 'warning',
      detail: 'the server ignores priorities: a call that a person decided does not overtake a backlog',
      todo: "Set in the server's dynamic configuration (Temporal 1.31 has it on):\n  matching.useNewMatcher=true",
    };
  const follows = 'the server follows priorities; fairness keys are';
  if (countOf(TENANT.type) >= SHARING) return { name: NAME, state: 'ok', detail: `${follows} on` };
  const todo =
    "If tenants should share a backlog, set in the server's dynamic configuration:\n  matching.enableFairness=true";
  return { name: NAME, state: 'ok', detail: `${follows} off`, todo };
}

/** Schedules the backlog while nobody polls, and then takes the first activities. One workflow has them all. */
async function takeBacklog(client: Countersign): Promise<string[]> {
  const probe = createProbe(client);
  const next = async (token: Uint8Array, commands: temporal.api.command.v1.ICommand[]) => {
    await probe.respond(token, commands);
    await probe.signal();
    return probe.poll();
  };
  const backlog = ({ type, count, priority }: (typeof BACKLOG)[number]) =>
    Array.from({ length: count }, (_, n) =>
      schedule(probe.taskQueue, { id: `${type}-${n}`, type, priority }),
    );
  // A server that switches fairness on at the first key of a queue does so for what comes later.
  const first = schedule(probe.taskQueue, { ...BATCH, id: 'first' });
  await probe.respond(await probe.start(), [first]);
  await probe.pollActivity();
  await probe.signal();
  const batched = await next(await probe.poll(), backlog(BATCH));
  const last = await next(batched, [...backlog(TENANT), ...backlog(DECIDED)]);
  const taken: string[] = [];
  while (taken.length < TAKEN) taken.push(await probe.pollActivity());
  // The end of the workflow ends its activities.
  await probe.respond(last, [COMPLETE]);
  return taken;
}

interface Scheduled {
  id: string;
  type: string;
  priority: temporal.api.common.v1.IPriority;
}

function schedule(
  taskQueue: temporal.api.taskqueue.v1.ITaskQueue,
  { id, type, priority }: Scheduled,
): temporal.api.command.v1.ICommand {
  return {
    commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
    scheduleActivityTaskCommandAttributes: {
      ...{ activityId: id, activityType: { name: type }, taskQueue, priority },
      scheduleToCloseTimeout: msToTs(ACTIVITY_MS),
    },
  };
}
