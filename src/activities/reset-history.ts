import { Context } from '@temporalio/activity';
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { CallInput } from '../contract/call';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** As much of a call's input as names it. */
const CallName = z.object({ callKey: z.string(), generation: z.number() });

/**
 * Whether a run that this one was reset from had already scheduled the same call (same key and generation).
 * Follows the chain of resets back to the first run.
 *
 * @throws where a history cannot be read.
 */
export async function wasScheduledBefore(input: CallInput): Promise<boolean> {
  const { info } = Context.current();
  const seen = new Set<string>();
  let runId = await baseRunOf(info.workflowExecution?.runId ?? '');
  while (runId !== undefined && !seen.has(runId)) {
    seen.add(runId);
    const events = await readHistory(runId);
    if (await schedules(events, input)) return true;
    runId = baseRunIn(events);
  }
  return false;
}

async function baseRunOf(runId: string): Promise<string | undefined> {
  return baseRunIn(await readHistory(runId));
}

/** A reset leaves a failed workflow task that names the run it was taken from; the last one counts. */
function baseRunIn(events: readonly HistoryEvent[]): string | undefined {
  const resets = events.flatMap((event) => event.workflowTaskFailedEventAttributes?.baseRunId || []);
  return resets.at(-1);
}

async function readHistory(runId: string): Promise<HistoryEvent[]> {
  const { info, client } = Context.current();
  const handle = client.workflow.getHandle(info.workflowExecution?.workflowId ?? '', runId);
  const history = await handle.fetchHistory();
  return history.events ?? [];
}

async function schedules(events: readonly HistoryEvent[], input: CallInput): Promise<boolean> {
  for (const event of events) {
    const name = await callNameOf(event);
    if (name?.callKey === input.callKey && name.generation === input.generation) return true;
  }
  return false;
}

async function callNameOf(event: HistoryEvent): Promise<z.infer<typeof CallName> | undefined> {
  const payload = event.activityTaskScheduledEventAttributes?.input?.payloads?.[0];
  if (payload === undefined || payload === null) return undefined;
  const [decoded] = await decode([payload]);
  const parsed = CallName.safeParse(decoded);
  return parsed.success ? parsed.data : undefined;
}

async function decode(payloads: temporal.api.common.v1.IPayload[]): Promise<unknown[]> {
  const { info, client } = Context.current();
  const { namespace, loadedDataConverter } = client.options;
  const owner = {
    type: 'workflow',
    namespace,
    workflowId: info.workflowExecution?.workflowId ?? '',
  } as const;
  let plain = payloads;
  for (const codec of loadedDataConverter.payloadCodecs.toReversed())
    plain = await codec.decode(plain, owner);
  return plain.map((payload) => defaultPayloadConverter.fromPayload(payload));
}
