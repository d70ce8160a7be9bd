import { z } from 'zod';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { cutOutput } from './cut-output';
import type { Tool } from './types';

/** What is said to a dangerous call where there is no workflow to wait for a person. */
export type ApprovalAnswer =
  | { decision: 'approved'; reason?: string }
  /** The whole arguments, not a patch; they are validated like those of the model. */
  | { decision: 'modified'; arguments: JsonObject; reason?: string }
  | { decision: 'denied'; reason?: string };

/** Asked before a dangerous tool runs. Contract: a throw, or anything but an answer, is a denial. May take its time. */
export type Approve = (tool: Tool, args: JsonObject) => ApprovalAnswer | Promise<ApprovalAnswer>;

const reason = z.string().transform((text) => cutOutput(text, LIMITS.reasonBytes));

const answerSchema = z.discriminatedUnion('decision', [
  z.object({ decision: z.literal('approved'), reason: reason.optional() }),
  z.object({
    decision: z.literal('modified'),
    arguments: z.record(z.string(), z.json()),
    reason: reason.optional(),
  }),
  z.object({ decision: z.literal('denied'), reason: reason.optional() }),
]);

/** An answer that was understood. */
export type Approval = z.output<typeof answerSchema>;

/** Asks, and takes everything that is no clear yes for a denial. Rejects only when `signal` aborts meanwhile. */
export async function askApproval(
  approve: Approve | undefined,
  call: { tool: Tool; args: JsonObject; signal?: AbortSignal | undefined },
): Promise<Approval> {
  if (approve === undefined)
    return { decision: 'denied', reason: 'it needs an approval and nobody can give one' };
  const asked = Promise.resolve().then(() => approve(call.tool, structuredClone(call.args)));
  const answer = answerSchema.safeParse(await untilAborted(asked.catch(failed), call.signal));
  return answer.success
    ? answer.data
    : { decision: 'denied', reason: 'the approval could not be understood' };
}

function failed(): ApprovalAnswer {
  return { decision: 'denied', reason: 'asking for the approval failed' };
}

async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stop = () => signal.removeEventListener('abort', onAbort);
  });
  return Promise.race([promise, aborted]).finally(stop);
}
