import { defaultPayloadConverter, TypedSearchAttributes } from '@temporalio/common';
import { coresdk, type temporal } from '@temporalio/proto';
import type { WorkflowInboundCallsInterceptor, WorkflowInfo } from '@temporalio/workflow';
import { setActivator } from '@temporalio/workflow/lib/global-attributes';
import { Activator } from '@temporalio/workflow/lib/internals';
import { createUnsafeRandomSource } from '@temporalio/workflow/lib/random-helpers';
import {
  activate,
  concludeActivation,
  tryUnblockConditions,
} from '@temporalio/workflow/lib/worker-interface';

export type Job = coresdk.workflow_activation.IWorkflowActivationJob;
export type Command = coresdk.workflow_commands.IWorkflowCommand;
type Payload = temporal.api.common.v1.IPayload;

const { UpdateRandomSeed: ResetSeed } = coresdk.workflow_activation;

const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value) ?? {};

/** What a server tells a workflow in one workflow task. */
export const jobs = {
  completed: (seq: number, value: unknown): Job => ({
    resolveActivity: { seq, result: { completed: { result: payload(value) } } },
  }),
  failed: (seq: number, failure: temporal.api.failure.v1.IFailure): Job => ({
    resolveActivity: { seq, result: { failed: { failure } } },
  }),
  cancelled: (seq: number): Job => ({
    resolveActivity: {
      seq,
      result: { cancelled: { failure: { message: 'cancelled', canceledFailureInfo: {} } } },
    },
  }),
  fired: (seq: number): Job => ({ fireTimer: { seq } }),
  signal: (signalName: string, value: unknown): Job => ({
    signalWorkflow: { signalName, input: [payload(value)] },
  }),
  update: (name: string, value: unknown, id = name): Job => ({
    doUpdate: { id, protocolInstanceId: id, name, input: [payload(value)], runValidator: true },
  }),
  query: (queryType: string, value?: unknown): Job => ({
    queryWorkflow: { queryId: 'q', queryType, arguments: value === undefined ? [] : [payload(value)] },
  }),
  cancel: (): Job => ({ cancelWorkflow: {} }),
  /** What the task after a reset begins with. */
  reseed: (): Job => ({ updateRandomSeed: ResetSeed.fromObject({ randomnessSeed: 7 }) }),
};

export interface WorkflowStart {
  info?: Partial<WorkflowInfo>;
  args?: readonly unknown[];
  /** Workflow time of the first task, in ms. */
  now?: number;
  /** An interceptor of a user. */
  inbound?: WorkflowInboundCallsInterceptor;
}

/**
 * Workflow code on the SDK's own runtime, without a sandbox and without a server: the test says what comes in each workflow
 * task and reads the commands. One at a time; `afterEach(endWorkflow)`.
 */
export class WorkflowUnderTest {
  private historyLength = 3;

  private constructor(private readonly activator: Activator) {}

  /** Starts a workflow; its first task is over when this resolves, and `commands` are what it gave. */
  static async start(
    body: (...args: never[]) => Promise<unknown>,
    { info = {}, args = [], now = 0, inbound }: WorkflowStart = {},
  ): Promise<{ workflow: WorkflowUnderTest; commands: Command[] }> {
    const activator = makeActivator(info, now);
    setActivator(activator);
    jest.spyOn(Date, 'now').mockImplementation(() => activator.now);
    Object.assign(activator, { workflow: body });
    if (inbound !== undefined) activator.interceptors.inbound.push(inbound);
    const workflow = new WorkflowUnderTest(activator);
    const start: Job = { initializeWorkflow: { arguments: args.map(payload) } };
    return { workflow, commands: await workflow.task([start]) };
  }

  /** What Temporal's UI shows as current details. */
  get details(): string {
    return this.activator.currentDetails;
  }

  /** One workflow task, `later` ms after the last one. Throws what fails the task. */
  async task(of: readonly Job[], later = 0): Promise<Command[]> {
    this.activator.now += later;
    this.historyLength += 3;
    const { historyLength } = this;
    this.activator.mutateWorkflowInfo((info) => ({ ...info, historyLength }));
    // The SDK's sandbox takes the new seed before all else, too.
    for (const { updateRandomSeed } of of)
      if (updateRandomSeed) this.activator.updateRandomSeed(ResetSeed.fromObject(updateRandomSeed));
    const rest = of.filter(({ updateRandomSeed }) => !updateRandomSeed);
    activate(coresdk.workflow_activation.WorkflowActivation.fromObject({ jobs: rest }));
    do await new Promise(setImmediate);
    while (tryUnblockConditions() > 0);
    return concludeActivation().successful?.commands ?? [];
  }
}

/** Ends the workflow of a test. */
export function endWorkflow(): void {
  Reflect.deleteProperty(globalThis, '__TEMPORAL_ACTIVATOR__');
  jest.restoreAllMocks();
}

function makeActivator(info: Partial<WorkflowInfo>, now: number): Activator {
  const random = createUnsafeRandomSource(() => 0.5);
  return new Activator({
    info: {
      workflowId: 'turn-1',
      runId: 'run-1',
      firstExecutionRunId: 'run-1',
      originalExecutionRunId: 'run-1',
      workflowType: 'agentTurn',
      searchAttributes: {},
      typedSearchAttributes: new TypedSearchAttributes(),
      historyLength: 3,
      historySize: 0,
      continueAsNewSuggested: false,
      targetWorkerDeploymentVersionChanged: false,
      taskQueue: 'queue',
      namespace: 'default',
      startTime: new Date(now),
      runStartTime: new Date(now),
      taskTimeoutMs: 10_000,
      attempt: 1,
      unsafe: { now: () => now, isReplaying: false, isReplayingHistoryEvents: false, random },
      ...info,
    },
    now,
    randomnessSeed: [1, 2, 3],
    registeredActivityNames: new Set(['pay']),
    getTimeOfDay: () => 0n,
    sourceMap: { version: 3, sources: [], names: [], mappings: '', file: '', sourcesContent: [] },
    stackTracesEnabled: false,
    showStackTraceSources: false,
  });
}

/** Commands as a test compares them: a word and what it is about. */
export function lines(commands: readonly Command[]): string[] {
  return commands.map((command) => {
    if (command.scheduleActivity) return `schedule ${command.scheduleActivity.activityId}`;
    if (command.scheduleLocalActivity) return `schedule locally ${command.scheduleLocalActivity.activityId}`;
    if (command.requestCancelActivity) return `cancel activity ${command.requestCancelActivity.seq}`;
    if (command.startTimer) return `start timer ${command.startTimer.seq}`;
    if (command.cancelTimer) return `cancel timer ${command.cancelTimer.seq}`;
    if (command.updateResponse) return `${responseOf(command.updateResponse)} update`;
    if (command.modifyWorkflowProperties)
      return `memo ${Object.keys(command.modifyWorkflowProperties.upsertedMemo?.fields ?? {}).join(' ')}`;
    if (command.upsertWorkflowSearchAttributes) return 'search attributes';
    return Object.keys(command).find((key) => key.endsWith('WorkflowExecution')) ?? 'another command';
  });
}

function responseOf(response: coresdk.workflow_commands.IUpdateResponse): string {
  if (response.accepted) return 'accept';
  return response.rejected ? 'reject' : 'complete';
}

/** The value in a payload that a command carries. */
export function valueIn(carried: Payload | null | undefined): unknown {
  return carried === null || carried === undefined ? undefined : defaultPayloadConverter.fromPayload(carried);
}
