import type { GateName, GivenTool } from '../../contract/gate';
import type { Parameters, Policy, Tool } from '../../tools/types';
import { defineTool, type ToolOptions } from '../../tools/define-tool';
import { defineAgent, type Agent } from '../../tools/define-agent';
import { createRegistry } from '../../tools/registry';
import type { ActivityDeps } from '../deps';

/** An activity, or a child workflow, about whose calls people are asked. */
export interface GateTarget extends Partial<GateName> {
  /** The tool of a call. `name`: the name that the call itself gives. */
  toolFor(name?: string): Tool;
  /** Whether people may change the arguments: only where there is a schema. */
  hasSchema: boolean;
}

/** What a worker of gated calls has. */
export interface GateWorker {
  deps: ActivityDeps;
  /** By the names of `GateNames`. */
  gated: ReadonlyMap<string, GateTarget>;
  /** Asked about each call. Absent: safety decides. */
  policy?: Policy;
  /** Calls that were scheduled before this time run without the gate, in ms since 1970. */
  before?: number;
}

/** The schema of arguments of which nothing is known: any object. */
const OPEN = { type: 'object', properties: {} };

/** The model is never asked. */
const NO_MODEL = { id: 'none', generate: () => Promise.reject(new Error('a gate has no model')) };

/** The agent of a gate. */
export function gateAgent(tools: Tool[], policy?: Policy): Agent {
  return defineAgent({ name: 'gate', instructions: 'A gate.', model: NO_MODEL, tools, policy });
}

/** What a worker has for the calls of one workflow type and one tool: to rules, the type is the agent. */
export function depsFor(
  { deps, policy }: GateWorker,
  workflowType: string,
  tool: Tool,
): ActivityDeps & { agent: Agent } {
  const agent = { ...gateAgent([], policy), name: workflowType, registry: createRegistry([tool]) };
  return { ...deps, agents: new Map([[workflowType, agent]]), agent };
}

/** The tool as the code of a workflow describes it. */
export function givenTool(name: string, { schema, effect = 'unsafe', ...given }: GivenTool): Tool {
  const { requestExpiresMs, noBatch, preview } = given;
  return toolForGate(name, {
    description: `Asked about by a workflow: ${name}.`,
    effect,
    parameters: schema,
    noBatch,
    requestExpires: requestExpiresMs === null ? 'never' : requestExpiresMs,
    preview: preview === undefined ? undefined : () => preview,
  });
}

/** A tool about whose calls people are asked, and which something else runs. */
export function toolForGate(
  name: string,
  { parameters = OPEN, safety = 'dangerous', ...of }: Partial<ToolOptions> & { description: string },
): Tool {
  return defineTool<Parameters>({ ...of, name, parameters, safety, noGrant: true, handler: () => undefined });
}
