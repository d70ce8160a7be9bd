import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import {
  type SignalInput,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { asError } from '../contract/errors';
import { isObject } from '../contract/json';
import { WORKFLOWS } from '../contract/names';
import { originIssues } from '../contract/turn';
import { isSeenLater, signalHandlerOf } from './sdk-internals';

/**
 * A resolved promise that costs nothing. The SDK makes six promises for each signal and keeps a stack for each promise,
 * which is most of the cost of a signal. The SDK chains no further promises to this one.
 */
const RESOLVED: Promise<void> = {
  then: (resolved, rejected) => Promise.resolve().then(resolved, rejected),
  catch: () => RESOLVED,
  finally: (done) => {
    done?.();
    return RESOLVED;
  },
  [Symbol.toStringTag]: 'Promise',
};

/**
 * Calls the signal handlers of our own workflows without the SDK's promises, so that a flood of signals does not block
 * the worker. The workflows of an application and its interceptors see every signal as without us.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const own: WorkflowInboundCallsInterceptor = {
    handleSignal: (input, next) => (isOurs() && !isSeenLater(own) ? handleSignal(input, next) : next(input)),
    execute,
  };
  return { inbound: [own] };
};

function isOurs() {
  const { workflowType } = workflowInfo();
  return Object.values<string>(WORKFLOWS).includes(workflowType);
}

function handleSignal(input: SignalInput, next: (input: SignalInput) => Promise<void>) {
  const handler = signalHandlerOf(input.signalName);
  if (handler === undefined) return next(input);
  try {
    const done = handler(...input.args);
    return done === undefined ? RESOLVED : done;
  } catch (error) {
    return Promise.reject(asError(error));
  }
}

/** The key under which the SDK's interceptors for OpenTelemetry pass on the span in which a workflow was started. */
const TRACE_HEADER = '_tracer-data';

/** Gives a turn the trace of the span in which it was started, unless its input names a trace. */
function execute(input: WorkflowExecuteInput, next: (input: WorkflowExecuteInput) => Promise<unknown>) {
  const header = input.headers[TRACE_HEADER];
  if (header === undefined || workflowInfo().workflowType !== WORKFLOWS.turn) return next(input);
  const [turn, ...rest] = input.args;
  const trace = traceIn(header);
  return next(trace === undefined ? input : { ...input, args: [withTrace(turn, trace), ...rest] });
}

/** The trace in the header. Anybody may write a header, so a header that does not fit is ignored. */
function traceIn(header: Payload) {
  try {
    const carrier: unknown = defaultPayloadConverter.fromPayload(header);
    const trace = isObject(carrier) ? carrier['traceparent'] : undefined;
    return typeof trace === 'string' && originIssues({ trace }).length === 0 ? trace : undefined;
  } catch {
    return undefined;
  }
}

function withTrace(turn: unknown, trace: string) {
  if (!isObject(turn)) return turn;
  const { origin = {} } = turn;
  return isObject(origin) ? { ...turn, origin: { trace, ...origin } } : turn;
}
