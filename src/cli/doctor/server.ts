import type { Client, ConnectionLike } from '@temporalio/client';
import type { Countersign } from '../../client';
import { registerCommand } from '../../engine/search-attributes';
import { ATTRIBUTE_TYPES } from '../../engine/server-args';
import { STATUS, statusOf, toCountersignError } from '../../history/server-errors';
import { hintOf, reason, type Finding } from './check';

/** `temporal.api.enums.v1.TaskQueueType`. */
const QUEUE_TYPES = { workflow: 1, activity: 2 } as const;

/** How long one question may take, in milliseconds. */
const ASK_MS = 10_000;

/**
 * Asks the server something that needs a key where keys are needed: a server greets whoever connects.
 *
 * @throws CountersignError `server_failed` where it does not let us, `namespace_missing`, `no_server`.
 */
export async function requireAccess({ client }: Countersign): Promise<void> {
  try {
    await client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflow.count("ExecutionStatus = 'Running'"),
    );
  } catch (error) {
    throw toCountersignError(error, 'counting turns');
  }
}

/** Whether the namespace has what the inbox is made of. */
export async function checkAttributes(desk: Countersign): Promise<Finding> {
  const name = 'search attributes';
  try {
    return judgeAttributes(name, await missingOf(desk), desk.namespace);
  } catch (error) {
    return { name, state: 'bad', detail: reason(error), ...hintOf(error) };
  }
}

async function missingOf({ client }: Countersign): Promise<string[]> {
  const missing: string[] = [];
  for (const attribute of Object.keys(ATTRIBUTE_TYPES)) {
    if (!(await isAccepted(client, attribute))) missing.push(attribute);
  }
  return missing;
}

function judgeAttributes(name: string, missing: readonly string[], namespace: string): Finding {
  if (missing.length === 0) return { name, state: 'ok', detail: 'all registered' };
  const commands = missing.map((attribute) => `  ${registerCommand(namespace, attribute)}`);
  const todo = ['Start a worker, which registers them; or run:', ...commands].join('\n');
  return { name, state: 'bad', detail: `missing: ${missing.join(', ')}`, todo };
}

/** Asking is what every caller may do; listing attributes is not. */
async function isAccepted(client: Client, attribute: string): Promise<boolean> {
  try {
    await client.workflow.count(`${attribute} IS NULL`);
    return true;
  } catch (error) {
    if (statusOf(error) === STATUS.invalidArgument) return false;
    throw toCountersignError(error, `asking for ${attribute}`);
  }
}

/** Whether a worker takes work from a queue. */
export async function checkQueue(desk: Countersign, queue: string, isMain: boolean): Promise<Finding> {
  const name = `queue ${queue}`;
  try {
    const workers = await pollersOf(desk, queue, isMain ? QUEUE_TYPES.workflow : QUEUE_TYPES.activity);
    if (workers.length > 0) return { name, state: 'ok', detail: `workers: ${workers.join(', ')}` };
    const todo = 'Start one with `countersign worker`, or both server and worker with `countersign dev`.';
    return { name, state: 'bad', detail: 'no worker takes work from it', todo };
  } catch (thrown) {
    const error = toCountersignError(thrown, 'asking who works on it');
    return { name, state: 'bad', detail: reason(error), ...hintOf(error) };
  }
}

type QueueType = (typeof QUEUE_TYPES)[keyof typeof QUEUE_TYPES];

async function pollersOf(
  { client, namespace }: Countersign,
  queue: string,
  type: QueueType,
): Promise<string[]> {
  const { workflowService }: ConnectionLike = client.connection;
  const described = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: type,
  });
  return [...new Set((described.pollers ?? []).map(({ identity }) => identity ?? '?'))];
}
