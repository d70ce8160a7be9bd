import { defaultPayloadConverter, type Headers, RawValue, RetryState } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityInput,
  type ActivityOptions,
  ApplicationFailure,
  ChildWorkflowFailure,
  type ContinueAsNewInput,
  type LocalActivityInput,
  type StartChildWorkflowExecutionInput,
  type WorkflowExecuteInput,
  patched,
  scheduleActivity,
  TemporalFailure,
  type WorkflowInterceptorsFactory,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { type CallSettings, isValidCall } from '../../contract/call';
import {
  argumentsIn,
  argumentsToRun,
  GATE_HEADER,
  childName,
  type GateName,
  type GateNames,
  type GateSettings,
} from '../../contract/gate';
import { parseJson } from '../../contract/json';
import { RETRY, TIMES } from '../../contract/limits';
import { LONGEST_READ } from '../../contract/tool';
import { WORKFLOWS } from '../../contract/names';
import { outputOf, type ToolFailure } from '../../contract/result';
import { approvalNote } from '../../lifecycle/results';
import { retryOf } from '../call-rounds';
import { summaryOf } from '../summary';
import { act, untilTrue } from '../call-life';
import { decodedValueOf } from '../messages';
import { handedOver, nextCallId, open } from './asked';
import { noteBefore, toMs } from './call-to-ask';
import { type Ran, runOpen, type Start } from './run-call';
import { carryGate, installGate, leftBefore, noteCarried, openGate, theGate } from './the-gate';

type Outbound<K extends keyof WorkflowOutboundCallsInterceptor> = NonNullable<
  WorkflowOutboundCallsInterceptor[K]
>;
type Next<K extends keyof WorkflowOutboundCallsInterceptor> = Parameters<Outbound<K>>[1];

/**
 * Makes the interceptor that asks people about calls with these names. The module of a bundle that the plugin adds calls
 * this function.
 */
export function gateInterceptors(names: GateNames): WorkflowInterceptorsFactory {
  return () => {
    installGate();
    return {
      inbound: [{ execute }],
      outbound: [
        {
          scheduleActivity: (input, next) => activity(names, input, next),
          scheduleLocalActivity: (input, next) => localActivity(names, input, next),
          startChildWorkflowExecution: (input, next) => child(names, input, next),
          continueAsNew,
        },
      ],
    };
  };
}

/** The name under which this workflow's calls of an activity are gated. Undefined: they are not. */
function nameIn(names: GateNames, type: string): GateName | undefined {
  const isOurs = Object.values<string>(WORKFLOWS).includes(workflowInfo().workflowType);
  return isOurs || !Object.hasOwn(names, type) ? undefined : names[type];
}

function activity(names: GateNames, input: ActivityInput, next: Next<'scheduleActivity'>) {
  const { activityType, options } = input;
  const header = openGate()?.headers.get(options.activityId ?? '');
  if (header !== undefined) return next({ ...input, headers: { ...input.headers, [GATE_HEADER]: header } });
  const name = nameIn(names, activityType);
  if (name === undefined || !patched(`countersign-gate:${activityType}`)) return next(input);
  return gatedActivity(name, input, (changed, gate) =>
    next({ ...input, ...changed, headers: { ...input.headers, ...gate } }),
  );
}

/** A gated activity that was to run locally runs as an ordinary one: what a person allows needs a worker's second look. */
function localActivity(names: GateNames, input: LocalActivityInput, next: Next<'scheduleLocalActivity'>) {
  const name = nameIn(names, input.activityType);
  if (name === undefined || !patched(`countersign-gate:${input.activityType}`)) return next(input);
  const { activityType, args, typeInfo } = input;
  const { localRetryThreshold: _local, ...options } = input.options;
  return gatedActivity(name, { activityType, args, options, typeInfo });
}

/** A gated child workflow starts when it is allowed. Nobody has to look at an earlier start: its id says that. */
async function child(
  names: GateNames,
  input: StartChildWorkflowExecutionInput,
  next: Next<'startChildWorkflowExecution'>,
): Promise<[Promise<string>, Promise<unknown>]> {
  const gated = childName(input.workflowType);
  const name = nameIn(names, gated);
  if (name === undefined || !patched(`countersign-gate:${gated}`)) return next(input);
  const fail = (failure: ToolFailure | undefined): never => {
    const cause = causeOf(failure);
    const execution = { workflowId: input.options.workflowId, runId: '' };
    throw new ChildWorkflowFailure(undefined, execution, input.workflowType, NOT_RETRIED, cause);
  };
  const read = argumentsIn(name, input.options.args);
  if (typeof read === 'string') return fail(refusedFor(input.workflowType, read));
  const gate = theGate();
  const callId = nextCallId(gate);
  const asked = { gated, tool: read.tool, settings: { gate: {} } };
  const call = await open(gate, asked, { callId, args: read.args });
  if (!isValidCall(call)) return fail(call.result.error);
  const state = await handedOver(gate, asked, callId);
  if (state.phase === 'done') return fail(state.result.error);
  const args = argumentsToRun(name, input.options.args, { args: state.effective, tool: read.tool });
  return next({ ...input, options: { ...input.options, args } });
}

/** What the run before left is taken up when the workflow first asks. */
async function execute(input: WorkflowExecuteInput, next: (input: WorkflowExecuteInput) => Promise<unknown>) {
  const header = input.headers[GATE_HEADER];
  if (header !== undefined) noteCarried(decodedValueOf(RawValue.fromPayload(header)));
  try {
    const value = await next(input);
    await outcomesKnown();
    return value;
  } catch (error) {
    // Any other error fails the workflow task, and a deploy may change the code.
    if (error instanceof TemporalFailure) await outcomesKnown();
    throw error;
  }
}

/**
 * Waits for unsafe calls that run or are in doubt: when the run has ended, nobody can say any more what became of them.
 * Other calls that run are left, as Temporal leaves every activity.
 */
async function outcomesKnown() {
  const gate = openGate();
  if (gate === undefined) return;
  await untilTrue(() =>
    [...gate.approvals.calls.values()].every(
      ({ phase, call }) => (phase !== 'running' && phase !== 'in_doubt') || call.settings.effect !== 'unsafe',
    ),
  );
}

/** Withdraws what waits, and passes on which ids and decisions are spent. */
async function continueAsNew(input: ContinueAsNewInput, next: Next<'continueAsNew'>): Promise<never> {
  await outcomesKnown();
  const gate = openGate();
  if (gate !== undefined) {
    for (const callId of gate.approvals.calls.keys()) act(gate, { type: 'withdraw', callId });
    gate.changes.look();
  }
  // A run that asks nobody hands on what the runs before it left.
  const left = gate === undefined ? leftBefore() : carryGate(gate);
  if (left === undefined) return next(input);
  const carried = defaultPayloadConverter.toPayload({ ...left });
  return next({ ...input, headers: { ...input.headers, [GATE_HEADER]: carried } });
}

type Scheduled = Pick<ActivityInput, 'activityType' | 'args' | 'options' | 'typeInfo'>;

/** Asks about an activity and runs it. `first` starts it as the code of the workflow asked for. */
async function gatedActivity(
  name: GateName,
  input: Scheduled,
  first?: (changed: Pick<Scheduled, 'args' | 'options'>, header: Headers) => Promise<unknown>,
) {
  const { activityType, typeInfo } = input;
  const gate = theGate();
  const callId = nextCallId(gate);
  const read = argumentsIn(name, input.args);
  if (typeof read === 'string') return unrun(name, activityType, refusedFor(activityType, read));
  const settings = settingsOf(activityType, input.options);
  const asked = { gated: activityType, tool: read.tool, settings };
  const call = await open(gate, asked, { callId, args: read.args });
  if (!isValidCall(call)) return unrun(name, activityType, call.result.error);
  const schedule = ({ state, activityId, isFirst }: Start) => {
    const args = argumentsToRun(name, input.args, { args: state.effective, tool: read.tool });
    const options = { ...input.options, ...optionsFor(state, input.options), activityId };
    const header = gate.headers.get(activityId);
    return isFirst && first !== undefined && header !== undefined
      ? first({ args, options }, { [GATE_HEADER]: header })
      : scheduleActivity(activityType, args, options, typeInfo);
  };
  return toCaller(name, activityType, await runOpen(gate, asked, { callId, schedule }));
}

/** An unsafe call has one attempt, and its outcome must be known, not assumed. */
function optionsFor(state: Start['state'], { retry, summary }: ActivityOptions): Partial<ActivityOptions> {
  const common = { summary: summary ?? summaryOf(state) };
  return state.call.settings.effect === 'unsafe'
    ? {
        ...common,
        retry: { ...retry, ...retryOf(state) },
        cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      }
    : common;
}

const MOST_ATTEMPTS = 1e6;

/** The times of an activity as its workflow gave them. */
function settingsOf(activityType: string, options: ActivityOptions): GateSettings {
  const { startToCloseTimeout, scheduleToCloseTimeout, scheduleToStartTimeout, heartbeatTimeout } = options;
  const timeoutMs = ms(startToCloseTimeout ?? scheduleToCloseTimeout, LONGEST_READ);
  return {
    gate: { activity: activityType },
    timeoutMs,
    heartbeatMs: ms(heartbeatTimeout, timeoutMs),
    startWithinMs: ms(scheduleToStartTimeout, TIMES.startWithin),
    retry: retryIn(options.retry),
    taskQueue: options.taskQueue,
  };
}

function ms(time: Parameters<typeof toMs>[0] | undefined, otherwise: number) {
  return time === undefined ? otherwise : Math.min(LONGEST_READ, Math.max(1, toMs(time, 'a timeout')));
}

function retryIn({
  maximumAttempts = 0,
  initialInterval,
  backoffCoefficient = RETRY.backoffCoefficient,
  maximumInterval,
}: NonNullable<ActivityOptions['retry']> = {}): CallSettings['retry'] {
  const most = maximumAttempts > 0 ? Math.min(maximumAttempts, MOST_ATTEMPTS) : MOST_ATTEMPTS;
  return {
    maximumAttempts: most,
    initialIntervalMs: ms(initialInterval, RETRY.initialIntervalMs),
    backoffCoefficient: Math.max(1, backoffCoefficient),
    maximumIntervalMs: maximumInterval === undefined ? undefined : ms(maximumInterval, LONGEST_READ),
  };
}

/** What the caller gets of a call that has ended. */
function toCaller({ caller }: GateName, activityType: string, { state, ended }: Ran<unknown>) {
  const note = approvalNote(state);
  const { success, error } = state.result;
  if (success && ended !== undefined && 'value' in ended)
    return caller === 'model' ? noteBefore(note, ended.value) : ended.value;
  if (success) {
    const text = outputOf(state.result, note);
    return caller === 'model' ? noteBefore(note, text) : found(activityType, text);
  }
  // What the code of the activity threw is passed on as it was.
  if (ended !== undefined && 'thrown' in ended && ended.thrown !== undefined && 'failure' in ended)
    throw ended.thrown;
  return unrun({ caller }, activityType, error);
}

/** What a call returned whose doubt is over: its own late result, or what a person says who found it. */
function found(activityType: string, text: string): unknown {
  const [, content = text] = /^[^\n]*\n\n([^]*)$/.exec(text) ?? [];
  const value = parseJson(content);
  if (value !== undefined) return value;
  throw failureFor(activityType, { code: 'happened', message: text });
}

/** A call that did not run, or whose outcome a person has found: a model reads why, and code gets a failure. */
function unrun({ caller }: Pick<GateName, 'caller'>, activityType: string, failure: ToolFailure = UNKNOWN) {
  if (caller === 'model') return failure.message;
  throw failureFor(activityType, failure);
}

function failureFor(activityType: string, failure: Parameters<typeof causeOf>[0]): ActivityFailure {
  const cause = causeOf(failure);
  return new ActivityFailure(cause.message, activityType, undefined, NOT_RETRIED, undefined, cause);
}

const NOT_RETRIED = RetryState.NON_RETRYABLE_FAILURE;

/** The failure whose type says what became of a call. */
function causeOf({ code, message }: { code: ToolFailure['code'] | 'happened'; message: string } = UNKNOWN) {
  return ApplicationFailure.nonRetryable(message, `countersign.${code}`);
}

const UNKNOWN: ToolFailure = { code: 'unknown', message: 'The call failed.' };

function refusedFor(what: string, why: string): ToolFailure {
  return { code: 'refused', message: `${what} did not run: ${why}.` };
}
