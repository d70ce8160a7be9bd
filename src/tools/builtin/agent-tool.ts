import { z } from 'zod';
import { digestJson } from '../../contract/digest';
import { LIMITS } from '../../contract/limits';
import type { Safety } from '../../contract/tool';
import { sha256 } from '../../system/sha256';
import { type Agent, isAgent } from '../define-agent';
import { defineTool, type ToolOptions } from '../define-tool';
import { ToolError } from '../errors';
import { checkedOptions, invalidDefinition } from '../option-values';
import type { SubAgent, Tool } from '../types';

/**
 * The most levels of child turns, unless the tool sets it. The limit is needed because an agent may call itself by
 * name.
 */
const CHILD_DEPTH = 3;

/** The most child turns that one turn starts, unless the tool sets it. */
const CHILDREN_PER_TURN = 50;

const ownSchema = z.object({
  /** The most child turns that may be nested, counting the turn of this tool; at most 6. @default 3 */
  depth: z.int().min(1).max(LIMITS.childDepthMost).optional(),
  /** The most child turns that one turn may start; at most 1,000. @default 50 */
  most: z.int().min(1).max(1000).optional(),
  /**
   * The effect of a second run of a call. With `pure`, up to 16 child turns of a step run at the same time; with
   * `idempotent`, one after another. In both cases a call starts one child turn, never two.
   *
   * @default 'idempotent'
   */
  effect: z.enum(['pure', 'idempotent'], 'must be pure or idempotent').optional(),
  /** Queue of the workers that have the agent. @default the queue of the turn that calls */
  taskQueue: z.string().min(1).optional(),
});

/** The options of `agentTool`. `requestExpires`, `startWithin` and `noBatch` are for a dangerous tool. */
export interface AgentToolOptions
  extends
    z.input<typeof ownSchema>,
    Pick<ToolOptions, 'requestExpires' | 'startWithin' | 'noBatch' | 'outputLimit'> {
  /** snake_case. @default the agent's name, with `_` for `-` */
  name?: string;
  /**
   * The description that the model reads: what the agent does and when to use it. Required if the agent is given by
   * name.
   * @default names the agent
   */
  description?: string;
  /**
   * With `dangerous`, a person decides before the child turn starts. The dangerous calls of the child turn always ask.
   * @default 'safe'
   */
  safety?: Safety;
}

/** Maps a tool to the agent that it was made from. A tool that was made from an agent's name has no entry. */
const definitions = new WeakMap<SubAgent, Agent>();

/** The agent that a tool was made from. Undefined if the tool was made from an agent's name. */
export function definitionOf(child: SubAgent): Agent | undefined {
  return definitions.get(child);
}

const parameters = z.object({
  task: z
    .string()
    .trim()
    .min(1)
    .describe('All that the agent has to know: it sees nothing of this conversation'),
});

/**
 * A tool whose call is a turn of another agent: a child turn, with a conversation of its own. The child's answer is the
 * result of the call. The child's dangerous calls wait in the same inbox. The child is cancelled with the calling turn.
 *
 * @param agent an agent, which the worker then has too; or the name of an agent that a worker of `taskQueue` has.
 * @throws CountersignError `config_invalid`, naming the tool and the rule, for a wrong definition.
 * @example
 * const clerk = defineAgent({ name: 'clerk', instructions: 'You …', model, tools: [agentTool(researcher)] });
 */
export function agentTool(agent: Agent | string, options: AgentToolOptions = {}): Tool {
  const named: string = isAgent(agent) ? agent.name : agent;
  const {
    name = named.replaceAll('-', '_'),
    depth: _depth,
    most: _most,
    taskQueue: _queue,
    ...given
  } = options;
  const tool = defineTool({
    ...given,
    name,
    description: descriptionOf(agent, name, options),
    parameters,
    safety: options.safety ?? 'safe',
    effect: options.effect ?? 'idempotent',
    preview: ({ task }) => `The agent ${named} gets this task: ${task}`,
    handler: () => {
      throw new ToolError('A sub-agent works in a turn only; nothing ran.');
    },
  });
  const child = childOf(named, name, options);
  if (isAgent(agent)) definitions.set(child, agent);
  const { agent: runs, taskQueue = null } = child;
  return Object.freeze({
    ...tool,
    child,
    // A tool with the same name and another agent is a different tool.
    digest: digestJson({ tool: tool.digest, agent: runs, taskQueue }, sha256),
  });
}

function descriptionOf(agent: Agent | string, name: string, { description }: AgentToolOptions) {
  if (description !== undefined) return description;
  if (isAgent(agent))
    return `Gives a task to the agent ${agent.name}, which works on it by itself and answers. Say in the task all that it has to know.`;
  throw invalidDefinition(
    'tool',
    { name },
    new Error('`description`: must say what the agent does, where it is given by name'),
  );
}

function childOf(agent: string, name: string, options: AgentToolOptions): SubAgent {
  const invalid = (words: string) => invalidDefinition('tool', { name }, new Error(words));
  const given = checkedOptions(ownSchema, options, invalid);
  const { depth = CHILD_DEPTH, most = CHILDREN_PER_TURN, taskQueue } = given;
  return Object.freeze({ agent, taskQueue, depth, most });
}
