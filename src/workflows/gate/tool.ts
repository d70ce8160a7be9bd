import type { InputOf, StandardJsonSchema } from '../../contract/schema/standard';
import type { Gate } from './gate';
import { type GateAllowed, argumentSchemaOf } from './request';
import type { GateRunRequest } from './run-request';

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
