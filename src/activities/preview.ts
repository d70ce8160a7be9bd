import type { Preview } from '../contract/plan';
import { TIMES } from '../contract/limits';
import type { Tool } from '../tools/types';

/** The tool's own preview of a call; undefined where it has none. Throws what the tool throws, and after 30 s. */
export async function previewOf(tool: Tool, value: unknown, callId: string): Promise<Preview | undefined> {
  if (tool.preview === undefined) return undefined;
  const signal = AbortSignal.timeout(TIMES.toolTimeout);
  const context = { callId, tool: tool.name, idempotencyKey: '', attempt: 1, signal, partial: () => {} };
  return Promise.race([tool.preview(value, context), rejectOn(signal)]);
}

/** Rejects when a signal aborts; never resolves. */
export function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(new Error('it did not end in time', { cause: signal.reason }));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
}
