import { isObject } from './json';

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
