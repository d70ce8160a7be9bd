import { RetryState } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityInput,
  type ActivityOptions,
  ApplicationFailure,
  patched,
  scheduleActivity,
  type WorkflowInterceptorsFactory,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { type CallSettings, isValidCall } from '../../contract/call';
import {
  argumentsIn,
  type GatedName,
  type GatedNames,
  type GateSettings,
  withArguments,
} from '../../contract/gate';
import { isObject, parseJson } from '../../contract/json';
import { LONGEST_READ, RETRY, TIMES } from '../../contract/limits';
import { GATE_HEADER, WORKFLOWS } from '../../contract/names';
import { outputOf, type ToolFailure } from '../../contract/result';
import { approvalNote } from '../../lifecycle/results';
import { retryOf } from '../call-rounds';
import { summaryOf } from '../summary';
import { nextCallId, open } from './asked';
import { toMs } from './request';
import { type Ran, runOpen, type Start } from './run-call';
import { installGate, openGate, theGate } from './the-gate';
import { withNote } from './note';

type Outbound<K extends keyof WorkflowOutboundCallsInterceptor> = NonNullable<
  WorkflowOutboundCallsInterceptor[K]
>;
type Next<K extends keyof WorkflowOutboundCallsInterceptor> = Parameters<Outbound<K>>[1];

/**
 * Makes the interceptor that asks people about calls with these names. The module of a bundle that the plugin adds calls
 * this function.
 */
export function gateInterceptors(names: GatedNames): WorkflowInterceptorsFactory {
  return () => {
    installGate(names);
    return { outbound: [{ scheduleActivity: (input, next) => activity(names, input, next) }] };
  };
}

/** The name under which this workflow's calls of an activity are gated. Undefined: they are not. */
function nameIn(names: GatedNames, type: string): GatedName | undefined {
  const isOurs = Object.values<string>(WORKFLOWS).includes(workflowInfo().workflowType);
  return isOurs || !Object.hasOwn(names, type) ? undefined : names[type];
}

function activity(names: GatedNames, input: ActivityInput, next: Next<'scheduleActivity'>): Promise<unknown> {
  const { activityType, options } = input;
  const header = openGate()?.headers.get(options.activityId ?? '');
  if (header !== undefined) return next({ ...input, headers: { ...input.headers, [GATE_HEADER]: header } });
  const name = nameIn(names, activityType);
  if (name === undefined || !patched(`countersign-gate:${activityType}`)) return next(input);
  return gatedActivity(name, input, next);
}

async function gatedActivity(
  name: GatedName,
  input: ActivityInput,
  next: Next<'scheduleActivity'>,
): Promise<unknown> {
  const { activityType, typeInfo } = input;
  const gate = theGate();
  const callId = nextCallId(gate);
  const read = argumentsIn(name, input.args);
  if (typeof read === 'string')
    return unrun(name, activityType, { code: 'refused', message: `${activityType} did not run: ${read}.` });
  const settings = settingsOf(activityType, input.options);
  const asked = { gated: activityType, settings, ...read };
  const call = await open(gate, asked, { callId, args: read.args });
  if (!isValidCall(call)) return unrun(name, activityType, call.result.error);
  const schedule = ({ state, activityId, isFirst }: Start): Promise<unknown> => {
    const isAsGiven = call.proposed === undefined && state.effectiveDigest === call.argsDigest;
    const args = isAsGiven ? input.args : withArguments(name, input.args, state.effective);
    const options = { ...input.options, ...optionsFor(state, input.options), activityId };
    if (!isFirst) return scheduleActivity(activityType, [...args], options, typeInfo);
    const header = gate.headers.get(activityId);
    const headers = header === undefined ? input.headers : { ...input.headers, [GATE_HEADER]: header };
    return next({ ...input, args: [...args], options, headers });
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
    ...(options.taskQueue === undefined ? {} : { taskQueue: options.taskQueue }),
  };
}

function ms(time: Parameters<typeof toMs>[0] | undefined, otherwise: number): number {
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
    ...(maximumInterval === undefined ? {} : { maximumIntervalMs: ms(maximumInterval, LONGEST_READ) }),
  };
}

/** What the caller gets of a call that has ended. */
function toCaller({ caller }: GatedName, activityType: string, { state, ended }: Ran<unknown>): unknown {
  const note = approvalNote(state);
  const { success, error } = state.result;
  if (success && ended !== undefined && 'value' in ended)
    return caller === 'model' ? withNote(note, ended.value) : ended.value;
  if (success) {
    const found = outputOf(state.result, note);
    if (caller === 'model') return withNote(note, found);
    return foundByPerson(activityType, found);
  }
  // What the code of the activity threw is passed on as it was.
  if (ended !== undefined && 'thrown' in ended && ended.thrown !== undefined && 'failure' in ended)
    throw ended.thrown;
  return unrun({ caller }, activityType, error);
}

/** What a person who found that a call took effect says that it returned. */
function foundByPerson(activityType: string, found: string): unknown {
  const [, content = ''] = /^[^\n]*\n\n([^]*)$/.exec(found) ?? [];
  const value = parseJson(content);
  if (value !== undefined) return value;
  throw failureFor(activityType, { code: 'happened', message: found });
}

/** A call that did not run, or whose outcome a person has found: a model reads why, and code gets a failure. */
function unrun(
  { caller }: Pick<GatedName, 'caller'>,
  activityType: string,
  failure: ToolFailure = { code: 'unknown', message: 'The call failed.' },
): string {
  if (caller === 'model') return failure.message;
  throw failureFor(activityType, failure);
}

function failureFor(
  activityType: string,
  { code, message }: { code: ToolFailure['code'] | 'happened'; message: string },
): ActivityFailure {
  const cause = ApplicationFailure.nonRetryable(message, `countersign.${code}`);
  return new ActivityFailure(
    message,
    activityType,
    undefined,
    RetryState.NON_RETRYABLE_FAILURE,
    undefined,
    cause,
  );
}
