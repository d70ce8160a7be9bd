import type { CarriedGate } from '../../contract/gate';
import { LIMITS } from '../../contract/limits';
import { MEMO } from '../../contract/names';
import type { InputOf, StandardJsonSchema } from '../../contract/schema/standard';
import { askPerson } from './ask';
import { gateFailure, noteBefore } from './call-to-ask';
import {
  argumentSchemaOf,
  type GateAllowed,
  type GateDecision,
  type GateOptions,
  type GateRequest,
} from './request';
import { askAndRun } from './run';
import type { GateOutcome, GateRunRequest } from './run-request';
import { carryGate, createOnce, type GateState, writeMemo } from './the-gate';

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
   * @throws ApplicationFailure `countersign.gate`, not retryable: arguments that do not fit the schema, a call id that
   * was used before, or a wrong time.
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
  const gate = createOnce(options.carried);
  if (options.about !== undefined)
    writeMemo({ [MEMO.prompt]: options.about.slice(0, LIMITS.promptCharacters) });
  return {
    ask: (request) => askPerson(gate, request),
    run: (activity, request) => askAndRun(gate, activity, request),
    carry: () => carry(gate),
  };
}

function carry(gate: GateState): CarriedGate {
  if (gate.approvals.calls.size + gate.opening.size === 0) return carryGate(gate);
  throw gateFailure('requests are open; a workflow continues as new when they are decided');
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
      return noteBefore(decision.note, await execute(decision.arguments, decision));
    },
  };
}

/** The text or value that the model reads about a call that the gate ran. */
function heard(ended: Awaited<ReturnType<Gate['run']>>) {
  if (!ended.allowed) return ended.message;
  if (ended.outcome === 'done') return noteBefore(ended.note, ended.result);
  return noteBefore(ended.note, ended.outcome === 'happened' ? ended.message : `Error: ${ended.message}`);
}
