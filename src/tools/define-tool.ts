import { CountersignError } from '../contract/errors';
import { digestJson } from '../contract/digest';
import type { Preview } from '../contract/plan';
import { toPreview, toVerification } from './answers';
import { settleSettings } from './tool-settings';
import { resolveParameters } from './parameters';
import type { CallContext, Parameters, Tool, ToolOptions, Verification } from './types';

/** The functions of a tool, as they look once the type of their arguments is forgotten. */
interface Functions {
  preview?(args: unknown, context: CallContext): Preview | string | Promise<Preview | string>;
  verify?(args: unknown, context: CallContext): Verification | Promise<Verification>;
  handler(args: unknown, context: CallContext): unknown;
}

/**
 * Makes a tool: checks the definition, fills in every default and digests it.
 *
 * @throws CountersignError `tool_invalid`, naming the tool and the rule, for a wrong definition.
 * @example
 * const refund = defineTool({
 *   name: 'refund_order',
 *   description: 'Pays an order back. Use it when the customer returned the goods.',
 *   parameters: z.object({ order: z.string(), cents: z.int().positive() }),
 *   safety: 'dangerous',
 *   handler: ({ order, cents }, { idempotencyKey }) => payments.refund(order, cents, idempotencyKey),
 * });
 */
export function defineTool<P extends Parameters>(options: ToolOptions<P>): Tool {
  try {
    return makeTool(options, options);
  } catch (error) {
    throw invalid(options, error);
  }
}

function makeTool(options: ToolOptions, functions: Functions): Tool {
  const settings = settleSettings(options);
  const { schema, parse } = resolveParameters(options.parameters, options.required);
  const { name, description, safety, effect } = settings;
  const { preview, verify } = functions;
  return Object.freeze<Tool>({
    ...settings,
    schema,
    server: 'local',
    digest: digestJson({ name, description, schema, safety, effect }),
    parse,
    preview: preview && (async (value, context) => toPreview(await preview.call(functions, value, context))),
    verify:
      verify && (async (value, context) => toVerification(await verify.call(functions, value, context))),
    handle: async (value, context) => functions.handler(value, context),
  });
}

function invalid(options: unknown, error: unknown): CountersignError {
  const rule = error instanceof Error ? error.message : String(error);
  return new CountersignError('tool_invalid', `tool ${nameOf(options)}: ${rule}`, {
    hint: 'Correct the definition given to defineTool.',
    cause: error,
  });
}

function nameOf(options: unknown): string {
  const name: unknown =
    typeof options === 'object' && options !== null && 'name' in options ? options.name : undefined;
  return typeof name === 'string' && name !== '' ? `\`${name.slice(0, 80)}\`` : 'without a name';
}
