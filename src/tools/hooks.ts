import type { JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import { messageOf } from './format-result';
import { within } from './within';

/** What a hook sees. */
export interface HookEvent {
  tool: string;
  callId: string;
  /** Those that run. */
  arguments: JsonObject;
}

/** What a hook after a call sees as well. */
export interface HookEndEvent extends HookEvent {
  result: ToolResult;
}

/**
 * Functions around each handler, such as ones that write to a store of your own. They only watch.
 * Contract: a hook that throws, or takes longer than 2 s, is warned about in the log and changes nothing.
 * They run for every attempt, so a call that is retried is seen more than once under the same `callId`.
 */
export interface Hooks {
  /** Right before the handler. */
  before?(event: HookEvent): unknown;
  /** After a success. */
  after?(event: HookEndEvent): unknown;
  /** After anything but a success. */
  onError?(event: HookEndEvent): unknown;
}

/** Keeps all hooks of a call within the 10 s between a tool's timeout and Temporal's. */
const HOOK_MS = 2000;

/** Runs one hook and waits for it; calls `warn` where it failed. Never rejects. */
export async function runHook(
  name: keyof Hooks,
  run: () => unknown,
  warn: (message: string) => void,
): Promise<void> {
  try {
    const { ended } = await within(Promise.resolve().then(run), HOOK_MS);
    if (!ended) warn(`hook ${name} took longer than ${HOOK_MS} ms; going on without it`);
  } catch (error) {
    warn(`hook ${name} failed: ${messageOf(error)}`);
  }
}
