import { z } from 'zod';
import { type GateTarget, toolForGate } from '../activities/gate/gated-tools';
import { CountersignError } from '../contract/errors';
import type { GateName } from '../contract/gate';
import { isJsonObject } from '../contract/json';
import { TOOL_NAME } from '../contract/names';
import { checkedOptions, callable } from '../tools/option-values';
import type { ToolOptions } from '../tools/define-tool';
import type { Parameters, Policy, Tool } from '../tools/types';

/** An activity about whose calls people are asked, or a child workflow. Times, retries and queues are the workflow's. */
export interface ActivityGate<P extends Parameters = Parameters> extends Partial<
  Pick<
    ToolOptions<P>,
    'description' | 'parameters' | 'safety' | 'effect' | 'preview' | 'verify' | 'requestExpires' | 'noBatch'
  >
> {
  /** The name by which people and rules know the call. @default the name of the activity in snake_case */
  tool?: string;
  /**
   * Who reads what a call returns. `code`: the code of the workflow. It gets the result as it is, and an ActivityFailure
   * whose cause has the type `countersign.denied` (`.expired`, `.refused`) if nothing ran. `model`: a model. It reads why
   * nothing ran, and what a person changed. @default 'code'
   */
  caller?: 'code' | 'model';
  /** The names of the positional arguments. @default the first argument is an object with all of them */
  args?: readonly string[];
  /**
   * The fields of the first argument that hold the name of the tool and its arguments, where one activity is for many
   * tools. For the MCP tools of the AI SDK: `{ tool: 'name', arguments: 'input' }`.
   */
  from?: { tool: string; arguments: string };
}

/** The options of the plugin. */
export interface PluginOptions {
  /**
   * The calls about which people are asked, by the type of the activity, or `child:<type>` of a child workflow. Calls
   * are dangerous and unsafe, and people cannot change arguments without `parameters`, unless the options say otherwise.
   */
  gate: Readonly<Record<string, ActivityGate>>;
  /** Asked about each call. It only makes safety stricter. @default safety decides */
  policy?: Policy;
  /** The file that says who may decide what; see docs/approvers.md. @default none: anybody may decide everything */
  approvers?: string;
  /** The folder of the journal of unsafe calls. It has to outlive the worker. @default the user's own state directory */
  stateDir?: string;
  /**
   * Calls that were scheduled before this time (ISO 8601) run without the gate: for the first deploy, while workflows
   * run that never asked. @default none does
   */
  before?: string;
}

const filled = z.string().min(1);

const OF_TOOL = [
  ...['description', 'parameters', 'safety', 'effect'],
  ...['preview', 'verify', 'requestExpires', 'noBatch'],
];

const optionsSchema = z.strictObject({
  gate: z.record(
    filled,
    z.strictObject({
      tool: filled.optional(),
      caller: z.enum(['code', 'model']).optional(),
      args: z.array(filled).optional(),
      from: z.strictObject({ tool: filled, arguments: filled }).optional(),
      // These are checked with the tool.
      ...Object.fromEntries(OF_TOOL.map((name) => [name, z.unknown().optional()])),
    }),
  ),
  policy: callable().optional(),
  approvers: filled.optional(),
  stateDir: filled.optional(),
  before: z.iso.datetime({ offset: true }).optional(),
});

/**
 * The options of the plugin, checked and with every default filled in.
 *
 * @throws CountersignError `config_invalid`, naming the activity and the rule.
 */
export function readOptions(options: PluginOptions) {
  checkedOptions(optionsSchema, options, invalid);
  const ours = Object.keys(options.gate).find((name) => /^(child:)?countersign\./.test(name));
  if (ours !== undefined) throw invalid(`${ours}: a name of Countersign cannot be gated`);
  const all = Object.entries(options.gate).map(([name, of]) => ({ name, ...gatedOf(name, of) }));
  const tools = all.map(({ gated }) => gated.toolFor());
  const twice = all.find(
    ({ gated }, at) => tools.findIndex(({ name }) => name === gated.toolFor().name) !== at,
  );
  if (twice !== undefined)
    throw invalid(
      `two of \`gate\` have the tool ${twice.gated.toolFor().name}: give \`${twice.name}\` a \`tool\` of its own`,
    );
  return {
    names: Object.fromEntries(all.map(({ name, of }) => [name, of])),
    gated: new Map(all.map(({ name, gated }) => [name, gated])),
    tools,
    before: options.before === undefined ? undefined : Date.parse(options.before),
  };
}

function gatedOf(
  name: string,
  { tool, caller = 'code', args, from, ...of }: ActivityGate,
): { of: GateName; gated: GateTarget } {
  if (args !== undefined && from !== undefined)
    throw invalid(`\`${name}\`: \`args\` and \`from\` exclude each other`);
  const { description = `The activity ${name}.` } = of;
  // Two names may be one in snake_case. The digest tells them apart.
  const toolFor = (given?: string) =>
    toolForGate(snakeCase(given ?? tool ?? name), {
      ...of,
      description: given === undefined ? description : `${description} ${given}`,
    });
  const made = toolFor();
  const unknown = of.parameters === undefined ? undefined : args?.find((one) => !hasProperty(made, one));
  if (unknown !== undefined)
    throw invalid(`\`${name}\`: the schema has no \`${unknown}\`, which \`args\` names`);
  const plain = { caller, ...(args && { args }), ...(from && { from }) };
  return {
    of: plain,
    gated: {
      ...plain,
      toolFor: (given) => (given === undefined ? made : toolFor(given)),
      hasSchema: of.parameters !== undefined,
    },
  };
}

function hasProperty({ schema }: Tool, name: string) {
  const { properties } = schema;
  return isJsonObject(properties) && Object.hasOwn(properties, name);
}

/** A name of an activity as the name of a tool. */
function snakeCase(name: string) {
  if (TOOL_NAME.test(name)) return name;
  const words = name
    .replace(/^child:/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
  return (
    words
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^[^a-z]+|_+$/g, '')
      .slice(0, 64) || 'call'
  );
}

function invalid(message: string) {
  return new CountersignError('config_invalid', `CountersignPlugin: ${message}`);
}
