import { digestJson } from './digest';
import { isObject } from './json';

/**
 * The number of digits of the digest. It is enough to distinguish sets of tools, and short because the name is in every
 * event that a worker makes.
 */
const DIGITS = 8;

/** The process and machine of a worker. */
interface WorkerPlace {
  pid: number;
  host: string;
}

/**
 * The identity of a worker: process and machine, as in Temporal's own identities, and a digest of the agents and tools
 * that it has for its queue.
 */
export function workerIdentity({ pid, host }: WorkerPlace, tools: ToolDigests): string {
  return `${pid}@${host}#${toolSetDigest(tools)}`;
}

/** The digest that names a set of agents and tools. */
export function toolSetDigest(tools: ToolDigests): string {
  return digestJson(tools).slice(0, DIGITS);
}

/** The digest of a worker's agents and tools, from its name. Undefined for a worker that is not one of our own. */
export function toolSetIn(identity: string): string | undefined {
  return /^\d+@[^#]*#([0-9a-f]{8})$/.exec(identity)?.[1];
}

/** The names of plugins that name an agent. The server lists the plugins of each worker. */
const AGENT_PLUGIN = /^countersign\.agent\/([a-z][a-z0-9_-]{0,63})$/;

/** A plugin that does nothing but name an agent. */
export function agentPlugin(agent: string): { name: string } {
  return { name: `countersign.agent/${agent}` };
}

/** The agents that are named among the plugins of a worker. */
export function agentsAmong(plugins: readonly string[]): string[] {
  return plugins.flatMap((name) => AGENT_PLUGIN.exec(name)?.[1] ?? []);
}

const APPROVERS_PLUGIN = /^countersign\.approvers\/([0-9a-f]{12})$/;

/** The digits of a file's digest that name it for people. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 12);
}

/** A plugin that does nothing but name the approvers file with which a worker started. */
export function approversPlugin(digest: string): { name: string } {
  return { name: `countersign.approvers/${shortDigest(digest)}` };
}

/** The approvers file that is named among the plugins of a worker, by its short digest. Undefined: it has none. */
export function approversAmong(plugins: readonly string[]): string | undefined {
  return plugins.flatMap((name) => APPROVERS_PLUGIN.exec(name)?.[1] ?? [])[0];
}

/**
 * The global by which a worker passes its list of tools to the workflows that it runs. No command depends on the list,
 * so no history depends on it.
 */
const GLOBAL = '__countersignTools';

/** Digests of tools, by agent and by name. */
export type ToolDigests = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A request whose tool has changed. If it is approved, it is refused before it runs. */
export interface ChangedTool {
  callId: string;
  /** `gone`: the agent no longer has the tool. */
  now: 'changed' | 'gone';
}

/** Code that is put before the code of the bundle, on the same line, so that the lines of the source map stay right. */
export function formatTools(digests: ToolDigests): string {
  return `globalThis.${GLOBAL}=${JSON.stringify(JSON.stringify(digests))};`;
}

/** Whether one of our workers runs this workflow. The code of other workers lacks the list of tools. */
export function isOurWorker(): boolean {
  return Reflect.has(globalThis, GLOBAL);
}

/**
 * The digests of one agent's tools, from the worker that runs this workflow. Undefined if the worker does not have the
 * agent.
 */
export function toolsHere(agent: string): Record<string, unknown> | undefined {
  const listed: unknown = Reflect.get(globalThis, GLOBAL);
  const digests: unknown = typeof listed === 'string' ? JSON.parse(listed) : undefined;
  const mine = isObject(digests) && Object.hasOwn(digests, agent) ? digests[agent] : undefined;
  return isObject(mine) ? mine : undefined;
}
