import { Client, type ConnectionLike } from '@temporalio/client';
import { defaultPayloadConverter, RawValue } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { DefaultLogger } from '@temporalio/worker';
import { createMemory } from '../../src/activities/conversation';
import type { ActivityDeps } from '../../src/activities/deps';
import type { Journal } from '../../src/activities/journal';
import type { HistoryEvent } from '../../src/history/decode/decode';
import { scriptedModel } from '../../src/models/scripted';
import { type AgentOptions, defineAgent } from '../../src/tools/define-agent';

const { WORKFLOW_EXECUTION_STATUS_RUNNING: RUNNING } = temporal.api.enums.v1.WorkflowExecutionStatus;

/** What the server says about the run of an activity. */
interface OnRecord {
  /** About the attempt. Absent: it is the first, and nothing is known of another. */
  pending?: object;
  /** The status of the run. Absent: it is running. */
  status?: temporal.api.enums.v1.WorkflowExecutionStatus;
  /** The histories of its runs, by run id. */
  histories?: Record<string, HistoryEvent[]>;
}

/** The client of an activity whose server has this on record, and takes every heartbeat. */
export function clientWith({ pending = {}, status = RUNNING, histories = {} }: OnRecord): Client {
  const through = async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act();
  const connection = {
    workflowService: {
      describeWorkflowExecution: async () => ({
        workflowExecutionInfo: { status },
        pendingActivities: [{ activityId: 'test', attempt: 1, ...pending }],
      }),
      getWorkflowExecutionHistory: async ({ execution }: { execution: { runId: string } }) => ({
        history: { events: histories[execution.runId] ?? [] },
        nextPageToken: new Uint8Array(),
      }),
      recordActivityTaskHeartbeat: async () => ({}),
    },
    withDeadline: through,
    withAbortSignal: through,
  };
  return new Client({ connection: connection as unknown as ConnectionLike });
}

/** A journal that knows of no call, and writes nothing. */
export const EMPTY_JOURNAL: Journal = {
  read: async () => ({ state: 'none' }),
  begin: async () => true,
  end: async () => undefined,
  fault: async () => undefined,
};

/** A worker with the agent `a`, which is as `own` says, and nothing that is kept anywhere; `parts` are its other parts. */
export function workerWith(own: Partial<AgentOptions>, parts: Partial<ActivityDeps> = {}): ActivityDeps {
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel([]), tools: [], ...own });
  return {
    agents: new Map([['a', agent]]),
    toolNames: new Set(agent.registry.list().map(({ name }) => name)),
    taskQueue: 'q',
    holderQueue: 'countersign-worker:1@here:1',
    agentWaitMs: 0,
    pricing: { currency: 'EUR', prices: {} },
    run: {},
    memory: createMemory(),
    journal: EMPTY_JOURNAL,
    // Failures are what some of these tests are about; the SDK need not tell them as well.
    log: new DefaultLogger('ERROR'),
    ...parts,
  };
}

/** What an activity returned, also where no converter of a user is to touch it. */
export function plainOf(said: unknown): unknown {
  return said instanceof RawValue ? defaultPayloadConverter.fromPayload(said.payload) : said;
}
