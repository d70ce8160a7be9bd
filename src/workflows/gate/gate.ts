import {
  CancellationScope,
  getCurrentDetails,
  isCancellation,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { attributeKey, MEMO } from '../../contract/names';
import type { InputOf, StandardJsonSchema } from '../../contract/schema/standard';
import { carriedDecisions, makeApprovals } from '../../lifecycle/state';
import { act, type ApprovalContext } from '../approvals';
import { allowed, start } from '../call-life';
import { DECISION_MESSAGES, RESOLUTION_MESSAGES, setAbandonHandler, setVerdictHandlers } from '../handlers';
import { MessageQueue } from '../message-queue';
import {
  argumentSchemaOf,
  type CarriedGate,
  type GateAllowed,
  type GateDecision,
  gateFailure,
  type GateOptions,
  type GateRequest,
  toPlain,
} from './request';
import { LIMITS } from '../../contract/limits';
import { ChangeNotifier } from '../changes';
import { DeadlineTimer } from '../deadline-timer';
import { Publisher } from '../publish';
import { currentDetails } from '../summary';
import { toGateAllowed, close, forbiddenBy, GateCall, type GateState, open } from './asked';
import { askAndRun } from './run';
import type { GateOutcome, GateRunRequest } from './run-request';

// A workflow may have only one gate. Temporal loads modules separately for each workflow, so each workflow has its own
// flag.
let isOpen = false;

/** Activities by name, for a gate whose activity types are not given. */
export interface AnyActivities {
  [name: string]: (args: object, key: string) => unknown;
}

/** The type of an activity's first argument. */
type ArgumentsOf<F> = F extends (args: infer A extends object, ...rest: never[]) => unknown ? A : never;

/** The type of an activity's result. */
type ResultOf<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;

/** Asks people on behalf of a workflow. */
export interface Gate<T extends object = AnyActivities> {
  /**
   * Opens a request and waits for its decision, for days if need be. Any number may wait at once.
   * In a scope that is cancelled the request is withdrawn and the wait throws Temporal's CancelledFailure.
   *
   * @throws ApplicationFailure `countersign.gate`, not retryable: arguments that do not fit the schema, a request over
   * 16 KiB (too large to review) or one for which the workflow's own memo has no room, a call id that was used before,
   * or a wrong time.
   */
  ask<A extends object>(request: GateRequest<A>): Promise<GateDecision<A>>;
  /**
   * Asks as `ask` does, and runs an allowed call as an activity, which gets the arguments and an idempotency key. An
   * unsafe call gets one attempt. If that attempt is lost, the call is in doubt. It stays in the inbox until a
   * person says that it happened, that it did not happen, or that it should run again. Never throws because the
   * activity failed.
   *
   * In a scope that is cancelled, a call that has not started never starts, and the wait throws Temporal's
   * CancelledFailure. A running call is cancelled, and the wait lasts until it has ended. The gate also waits for calls
   * in doubt.
   *
   * @throws ApplicationFailure `countersign.gate`, as `ask` does.
   * @example
   * const gate = createGate<Activities>({ about: `refund of ${order}` });
   * const paid = await gate.run('refund', { tool: 'refund_order', arguments: { order, cents }, schema, timeout: '30s' });
   * return paid.outcome === 'done' ? paid.result : paid.message;
   */
  run<N extends keyof T & string, A extends ArgumentsOf<T[N]>>(
    activity: N,
    request: GateRunRequest<A>,
  ): Promise<GateOutcome<A, ResultOf<T[N]>>>;
  /** The state for the next run's `createGate` if the workflow continues as new. Only while no request is open. */
  carry(): CarriedGate;
}

/**
 * Lets people decide on calls of this workflow, and resolve calls in doubt. The gate handles the updates `decide` and
 * `resolve` and the signals `approval`, `resolution` and `abandon`, which the inbox, the command line and Temporal's
 * own tools send. Call this function once, at the beginning, with the type of your activities if the gate runs them.
 * The namespace needs Countersign's search attributes, which any `countersign worker` registers.
 *
 * @example
 * const gate = createGate({ about: `refund of ${order}` });
 * const decision = await gate.ask({ tool: 'refund_order', arguments: { order, amount }, schema });
 * if (decision.allowed) await refund(decision.arguments, decision.callKey);
 */
export function createGate<T extends object = AnyActivities>(options: GateOptions = {}): Gate<T> {
  if (isOpen) throw gateFailure('a workflow has one gate; ask it as often as you like');
  isOpen = true;
  const gate = makeGate(options.carried);
  const queue = new MessageQueue(() => void act(gate, { type: 'reset' }));
  setVerdictHandlers(gate, queue, DECISION_MESSAGES);
  setVerdictHandlers(gate, queue, RESOLUTION_MESSAGES);
  setAbandonHandler(gate, queue);
  upsertSearchAttributes([{ key: attributeKey('agent'), value: workflowInfo().workflowType }]);
  if (options.about !== undefined)
    upsertMemo({ [MEMO.prompt]: options.about.slice(0, LIMITS.promptCharacters) });
  void CancellationScope.nonCancellable(() => gate.changes.run());
  return {
    ask: (request) => ask(gate, request),
    run: (activity, request) => askAndRun(gate, activity, request),
    carry: () => carry(gate),
  };
}

async function ask<A extends object>(gate: GateState, given: GateRequest<A>): Promise<GateDecision<A>> {
  const request = toPlain(given);
  const callId = open(gate, request);
  const call = new GateCall(gate, callId, request);
  try {
    const state = await allowed(call);
    if (state.phase === 'done') return forbiddenBy(gate, state);
    // An allowed call is handed over: its decision is spent.
    return toGateAllowed(start(call), request);
  } catch (error) {
    if (isCancellation(error)) act(gate, { type: 'withdraw', callId });
    throw error;
  } finally {
    close(gate, callId);
  }
}

function carry(gate: GateState): ReturnType<Gate['carry']> {
  if (gate.approvals.calls.size === 0) return carryGate(gate);
  throw gateFailure('requests are open; a workflow continues as new when they are decided');
}

/** A gate with nothing open, or the gate of the previous run. */
function makeGate(carried?: CarriedGate): GateState {
  const context: ApprovalContext = {
    approvals: makeApprovals(carried?.spent),
    stepKey: '',
    signalVerdicts: [],
    signalCount: 0,
    signalsWaiting: 0,
    revision: 0,
  };
  const timer = new DeadlineTimer(context, new CancellationScope({ cancellable: false }));
  const changes = new ChangeNotifier(context, [timer, new Publisher(context, keepOwn())]);
  return Object.assign(context, { asked: carried?.asked ?? 0, watched: new WeakMap(), changes });
}

/** The state of a gate for the next run. */
function carryGate({ asked, approvals }: GateState): CarriedGate {
  return { asked, spent: carriedDecisions(approvals) };
}

/**
 * Makes the text for the current details. It names the waiting calls. When nothing waits, it is the workflow's own
 * details again.
 */
function keepOwn(): ConstructorParameters<typeof Publisher>[1] {
  let own: string | undefined;
  return (open) => {
    if (open.length > 0) {
      own ??= getCurrentDetails();
      return currentDetails(open, 0);
    }
    const details = own ?? getCurrentDetails();
    own = undefined;
    return details;
  };
}

/** A tool for an AI SDK. A person decides on its calls. */
export interface GateToolOptions<
  S extends StandardJsonSchema<object> = StandardJsonSchema<object>,
> extends Omit<GateRunRequest<InputOf<S>>, 'arguments' | 'schema' | 'callId'> {
  /** What the model reads about the tool. */
  description: string;
  /**
   * The schema of the arguments, for the model and for arguments that a person changes: a `z.object` of zod 4.2 or
   * later.
   */
  inputSchema: S;
  /**
   * How to run an allowed call: the name of an activity, as in `gate.run`, or a function of your workflow. `timeout`,
   * `heartbeat`, `startWithin`, `retry` and `taskQueue` apply only to an activity.
   */
  execute: string | ((args: InputOf<S>, decision: GateAllowed<InputOf<S>>) => unknown);
}

/** A tool in the form that AI SDKs take. */
export interface GateTool<S extends StandardJsonSchema<object> = StandardJsonSchema<object>> {
  description: string;
  inputSchema: S;
  /**
   * Returns what the model reads: the result after a note on what a person changed or said, or the reason why nothing
   * ran.
   */
  execute(args: InputOf<S>): Promise<unknown>;
}

/**
 * A tool for an AI SDK that runs in a workflow, such as Temporal's plugin for the `ai` package. Each call asks a person
 * at the gate. The model reads what a person changed, so that it does not ask for the original again.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the schema has no JSON Schema form.
 * @example
 * const refund = gateTool(gate, {
 *   tool: 'refund_order',
 *   description: 'Pays an order back.',
 *   inputSchema: z.object({ order: z.string(), cents: z.int().positive() }),
 *   execute: 'refund',
 *   timeout: '30s',
 * });
 * const { text } = await generateText({ model, prompt, tools: { refund } });
 */
export function gateTool<S extends StandardJsonSchema<object>>(
  gate: Pick<Gate, 'ask' | 'run'>,
  { description, inputSchema, execute, ...request }: GateToolOptions<S>,
): GateTool<S> {
  const schema = argumentSchemaOf(request.tool, inputSchema);
  return {
    description,
    inputSchema,
    async execute(args) {
      const asked = { ...request, arguments: args, schema };
      if (typeof execute === 'string') return heard(await gate.run(execute, asked));
      const decision = await gate.ask<InputOf<S>>(asked);
      if (!decision.allowed) return decision.message;
      return withNote(decision.note, await execute(decision.arguments, decision));
    },
  };
}

/** The text or value that the model reads about a call that the gate ran. */
function heard(ended: Awaited<ReturnType<Gate['run']>>): unknown {
  if (!ended.allowed) return ended.message;
  if (ended.outcome === 'done') return withNote(ended.note, ended.result);
  return withNote(ended.note, ended.outcome === 'happened' ? ended.message : `Error: ${ended.message}`);
}

function withNote(note: string | undefined, result: unknown): unknown {
  if (note === undefined) return result;
  if (result === undefined) return note;
  return typeof result === 'string' ? `${note}\n\n${result}` : { note, result };
}
