import { digestJson } from './digest';
import type { ToolDigests } from './worker-tools';

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
