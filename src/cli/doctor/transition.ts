import { randomUUID } from 'node:crypto';
import type { ConnectionLike } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { temporal } from '@temporalio/proto';
import type { Countersign } from '../../client';
import { DYNAMIC_CONFIG } from '../../engine/server-args';
import { errorLine, type Finding } from './machine';

/** The times between two workflow tasks of a turn on an idle server, in milliseconds. */
export interface Transition {
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

const NAME = 'transitions';

/** Measures the server's transitions. If transitions wait, the finding names the settings that change this. */
export async function checkTransitions(client: Countersign): Promise<Finding> {
  return orSkipped(NAME, 'could not be timed', async () => judge(await timeTransitions(client)));
}

/** A finding of a probe. Approvers may have credentials that only allow signals, so a probe that fails is skipped. */
export async function orSkipped(name: string, what: string, probe: () => Promise<Finding>): Promise<Finding> {
  try {
    return await probe();
  } catch (error) {
    return { name, state: 'skipped', detail: `${what}: ${errorLine(error)}` };
  }
}

/** The finding for a measured transition. */
export function judge({ waitMs, roundTripMs }: Transition): Finding {
  const measured = `${waitMs.toFixed(0)} ms between two tasks of a turn (a round trip takes ${roundTripMs.toFixed(0)} ms)`;
  if (waitMs < WAITS_MS) return { name: NAME, state: 'ok', detail: measured };
  const settings = DYNAMIC_CONFIG.map((setting) => `  ${setting}`);
  const todo = ["Set in the server's dynamic configuration (`countersign dev` does):", ...settings].join(
    '\n',
  );
  return { name: NAME, state: 'warning', detail: `they wait: ${measured}`, todo };
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The command that ends the workflow of a probe. */
export const COMPLETE: temporal.api.command.v1.ICommand = {
  commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
  completeWorkflowExecutionCommandAttributes: {},
};

/** The client side and the worker side of one workflow, on a separate queue. */
export function createProbe({ client, namespace }: Countersign) {
  const { connection } = client;
  const { workflowService }: ConnectionLike = connection;
  const id = `countersign-doctor-${randomUUID()}`;
  const taskQueue = { name: id };
  const about = { namespace, identity: client.options.identity };
  const inTime = <T>(ask: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + TASK_MS, ask);
  const poll = async (): Promise<Uint8Array> => {
    const { taskToken } = await inTime(() => workflowService.pollWorkflowTaskQueue({ ...about, taskQueue }));
    return taskToken;
  };
  /** Takes the next activity of the queue, and returns its type. It is never answered. */
  const pollActivity = async (): Promise<string> => {
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
  const start = async (): Promise<Uint8Array> => {
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
