import { randomUUID } from 'node:crypto';
import type { ConnectionLike } from '@temporalio/client';
import { msToTs } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { Countersign } from '../../client';
import { DYNAMIC_CONFIG } from '../../engine/server-args';
import { errorLine, type Finding } from './machine';

/** The times between two workflow tasks of a turn on an idle server, in milliseconds. */
interface Transition {
  /** The time from the answer to a signal until the workflow task for this signal arrives. */
  waitMs: number;
  /** The time of a request to the server and its answer. */
  roundTripMs: number;
}

/**
 * The number of transitions that are not counted. A server has a reserve, so it lets the first 20 or so pass without a
 * wait.
 */
const RESERVE = 30;
const COUNTED = 15;

/**
 * From this time on, transitions count as waiting. A shard that polls 20 times a second makes each transition wait up
 * to 50 ms. Without this wait, a transition takes a few milliseconds.
 */
const WAITS_MS = 20;

/** The most time for one task, and the time after which a workflow of an interrupted check ends. */
const TASK_MS = 10_000;
const WORKFLOW_MS = 60_000;

const TRANSITIONS = 'transitions';

/** Measures the server's transitions. If transitions wait, the finding names the settings that change this. */
export async function checkTransitions(client: Countersign): Promise<Finding> {
  return orSkipped(TRANSITIONS, 'could not be timed', async () => judge(await timeTransitions(client)));
}

/** A finding of a probe. Approvers may have credentials that only allow signals, so a probe that fails is skipped. */
async function orSkipped(name: string, what: string, probe: () => Promise<Finding>): Promise<Finding> {
  try {
    return await probe();
  } catch (error) {
    return { name, state: 'skipped', detail: `${what}: ${errorLine(error)}` };
  }
}

/** The finding for a measured transition. */
export function judge({ waitMs, roundTripMs }: Transition): Finding {
  const measured = `${waitMs.toFixed(0)} ms between two tasks of a turn (a round trip takes ${roundTripMs.toFixed(0)} ms)`;
  if (waitMs < WAITS_MS) return { name: TRANSITIONS, state: 'ok', detail: measured };
  const settings = DYNAMIC_CONFIG.map((setting) => `  ${setting}`);
  const todo = ["Set in the server's dynamic configuration (`countersign dev` does):", ...settings].join(
    '\n',
  );
  return { name: TRANSITIONS, state: 'warning', detail: `they wait: ${measured}`, todo };
}

/**
 * Acts as a worker that does nothing, over the client's own connection: each signal makes a workflow task. The server
 * answers a signal after the task is recorded, so the network time does not count on either side.
 */
async function timeTransitions(client: Countersign): Promise<Transition> {
  const probe = createProbe(client);
  const waits: number[] = [];
  const roundTrips: number[] = [];
  let token = await probe.start();
  for (let n = 0; n < RESERVE + COUNTED; n++) {
    await probe.respond(token, []);
    const before = performance.now();
    const signalled = probe.signal().then(() => performance.now());
    const arrived = probe.poll().then((next) => ({ next, at: performance.now() }));
    const [answered, { next, at }] = await Promise.all([signalled, arrived]);
    roundTrips.push(answered - before);
    waits.push(Math.max(0, at - answered));
    token = next;
  }
  await probe.respond(token, [COMPLETE]);
  return { waitMs: median(waits.slice(RESERVE)), roundTripMs: median(roundTrips.slice(RESERVE)) };
}

function median(values: readonly number[]) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The command that ends the workflow of a probe. */
const COMPLETE: temporal.api.command.v1.ICommand = {
  commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
  completeWorkflowExecutionCommandAttributes: {},
};

/** The client side and the worker side of one workflow, on a separate queue. */
function createProbe({ client, namespace }: Countersign) {
  const { connection } = client;
  const { workflowService }: ConnectionLike = connection;
  const id = `countersign-doctor-${randomUUID()}`;
  const taskQueue = { name: id };
  const about = { namespace, identity: client.options.identity };
  const inTime = <T>(ask: () => Promise<T>) => connection.withDeadline(Date.now() + TASK_MS, ask);
  const poll = async () => {
    const { taskToken } = await inTime(() => workflowService.pollWorkflowTaskQueue({ ...about, taskQueue }));
    return taskToken;
  };
  /** Takes the next activity of the queue, and returns its type. It is never answered. */
  const pollActivity = async () => {
    const until = performance.now() + TASK_MS;
    while (performance.now() < until) {
      const { activityType } = await inTime(() =>
        workflowService.pollActivityTaskQueue({ ...about, taskQueue }),
      );
      if (activityType?.name) return activityType.name;
      // A server that loads a queue anew answers its polls with nothing.
    }
    throw new Error('the server gave out no activity');
  };
  const start = async () => {
    await workflowService.startWorkflowExecution({
      ...about,
      taskQueue,
      workflowId: id,
      workflowType: { name: 'countersign.doctor' },
      workflowExecutionTimeout: msToTs(WORKFLOW_MS),
      requestId: randomUUID(),
    });
    return poll();
  };
  const signal = () =>
    workflowService.signalWorkflowExecution({
      ...about,
      workflowExecution: { workflowId: id },
      signalName: 'countersign.doctor',
      requestId: randomUUID(),
    });
  const respond = (taskToken: Uint8Array, commands: temporal.api.command.v1.ICommand[]) =>
    workflowService.respondWorkflowTaskCompleted({ ...about, taskToken, commands });
  return { taskQueue, start, poll, pollActivity, signal, respond };
}

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
const TAKEN = 32;
const OVERTAKING = DECIDED.count / 2;
const SHARING = TENANT.count / 4;

/** The time after which an activity of an interrupted check ends. */
const ACTIVITY_MS = 60_000;

const PRIORITIES = 'priorities';

/** Makes a backlog, and looks at what the server gives out first. */
export async function checkPriorities(client: Countersign): Promise<Finding> {
  return orSkipped(PRIORITIES, 'could not be tried', async () => judgeOrder(await takeBacklog(client)));
}

/** The finding for the types of the activities that came first. */
export function judgeOrder(taken: readonly string[]): Finding {
  const countOf = (type: string) => taken.filter((one) => one === type).length;
  if (countOf(DECIDED.type) < OVERTAKING)
    return {
      name: PRIORITIES,
      state: 'warning',
      detail: 'the server ignores priorities: a call that a person decided does not overtake a backlog',
      todo: "Set in the server's dynamic configuration (Temporal 1.31 has it on):\n  matching.useNewMatcher=true",
    };
  const follows = 'the server follows priorities; fairness keys are';
  if (countOf(TENANT.type) >= SHARING) return { name: PRIORITIES, state: 'ok', detail: `${follows} on` };
  const todo =
    "If tenants should share a backlog, set in the server's dynamic configuration:\n  matching.enableFairness=true";
  return { name: PRIORITIES, state: 'ok', detail: `${follows} off`, todo };
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

function schedule(
  taskQueue: temporal.api.taskqueue.v1.ITaskQueue,
  { id, type, priority }: { id: string; type: string; priority: temporal.api.common.v1.IPriority },
): temporal.api.command.v1.ICommand {
  return {
    commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
    scheduleActivityTaskCommandAttributes: {
      activityId: id,
      activityType: { name: type },
      taskQueue,
      priority,
      scheduleToCloseTimeout: msToTs(ACTIVITY_MS),
    },
  };
}
