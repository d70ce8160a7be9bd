import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, defaultPayloadConverter, WorkflowNotFoundError } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { Countersign, InboxItem, InboxQuery } from '../../src/client';
import type { Decision, Refused, Resolution, SignalVerdict, Verdict } from '../../src/contract/decision';
import { SIGNALS, UPDATES } from '../../src/contract/names';
import type { TranscriptPage, TranscriptQuery, TranscriptEntry } from '../../src/contract/transcript';
import type { OpenItem } from '../../src/contract/open-item';
import type { OpenMemo } from '../../src/contract/turn';
import { isTaskFailing, retry } from '../../src/history/server-errors';
import { approveNext, denyNext } from '../../src/testing';
import type { TurnHandle } from './fixture';
import { until } from './until';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** What waits in a turn, from its memo; undefined where nothing does. */
export async function openOf(handle: TurnHandle): Promise<OpenMemo | undefined> {
  const open = (await handle.describe()).memo?.['open'];
  return isOpenMemo(open) ? open : undefined;
}

/** Verdicts on signals, from the memo. */
export async function verdictsOf(handle: TurnHandle): Promise<SignalVerdict[]> {
  const verdicts = (await handle.describe()).memo?.['verdicts'];
  return Array.isArray(verdicts) ? verdicts : [];
}

/** Waits until the inbox lists an item of a turn, and returns it. Visibility tells of it a moment after the turn. */
export function listedItem(
  client: Pick<Countersign, 'inbox'>,
  turn: string,
  query: InboxQuery = {},
): Promise<InboxItem> {
  return until(`${turn} in the inbox`, async () =>
    (await client.inbox({ ...query, limit: Infinity })).find((item) => item.turn === turn),
  );
}

/** Lets a schedule start its turn now, and gives the id of the turn. */
export async function runNow({ client, schedules }: Countersign, id: string): Promise<string> {
  await client.schedule.getHandle(id).trigger('ALLOW_ALL');
  return until(
    'the turn of the schedule',
    async () => (await schedules.list()).find((one) => one.id === id)?.last?.turn,
  );
}

/** Waits until a call waits for a decision, or is in doubt, and returns its line of the memo. */
export function waitFor(
  handle: TurnHandle,
  callId: string,
  kind: OpenItem['kind'] = 'request',
): Promise<OpenItem> {
  return until(`${callId} to be ${kind}`, async () => {
    const open = await openOf(handle).catch(unlessNotStarted);
    return open?.items.find((item) => item.callId === callId && item.kind === kind);
  });
}

/** The turn of a session may not be there yet. */
function unlessNotStarted(error: unknown): undefined {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
}

/** What a person saw of a request: the key of the call, and the digest of what was shown. */
export async function seenOf(
  handle: TurnHandle,
  callId = '1.1',
): Promise<{ callKey: string; seenDigest: string }> {
  const open = await openOf(handle);
  const item = open?.items.find((one) => one.callId === callId);
  if (open === undefined || item?.seenDigest === undefined) throw new Error(`no request ${callId}`);
  return { callKey: `${open.key}:${callId}`, seenDigest: item.seenDigest };
}

/** Waits until a request shows another plan than the one a person saw. While the new plan is being made, nothing is open. */
export function newPlan(handle: TurnHandle, { seenDigest }: { seenDigest?: string }): Promise<OpenItem> {
  return until('the new plan', async () => {
    const now = (await openOf(handle))?.items[0];
    return now?.seenDigest !== undefined && now.seenDigest !== seenDigest && now;
  });
}

/** Decides by update; a refusal is an answer too. */
export function decide(handle: TurnHandle, decision: Decision, updateId?: string): Promise<Verdict> {
  return send(handle, UPDATES.decide, decision, updateId);
}

/** Resolves by update. */
export function resolve(handle: TurnHandle, resolution: Resolution): Promise<Verdict> {
  return send(handle, UPDATES.resolve, resolution);
}

/** Decides by signal; the verdict comes in the memo. */
export function signalDecision(handle: TurnHandle, decision: unknown): Promise<void> {
  return handle.signal(SIGNALS.approval, decision);
}

/**
 * Sends anything to an update of a turn. As our client does, it sends the same update again when the server aborted it, because
 * a task of the turn failed: one that would end the turn fails if an event came in the meantime.
 */
export async function send(
  handle: TurnHandle,
  update: string,
  message: unknown,
  updateId: string = randomUUID(),
): Promise<Verdict> {
  const execute = () => handle.executeUpdate<Verdict, [unknown]>(update, { args: [message], updateId });
  try {
    return await retry({ passes: isTaskFailing, forMs: 10_000 }, execute);
  } catch (error) {
    return refusalIn(error);
  }
}

function refusalIn(error: unknown): Refused {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
    const [refused] = error.cause.details ?? [];
    if (isRefused(refused)) return refused;
  }
  throw error;
}

/** The messages of a turn, as the model sees them. Needs a worker. */
export async function transcriptOf(handle: TurnHandle): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page: TranscriptPage = await handle.query<TranscriptPage, [TranscriptQuery]>('transcript', {
      from,
    });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}

/** The history of a turn's current run. */
export async function eventsOf(handle: TurnHandle): Promise<HistoryEvent[]> {
  return (await handle.fetchHistory()).events ?? [];
}

/** How often an activity of this type was scheduled in a turn's current run, and what runs or waits to run now. */
export async function attemptsOf(
  handle: TurnHandle,
  type: string,
): Promise<{ scheduled: number; pending: number }> {
  const scheduled = (await eventsOf(handle)).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type,
  ).length;
  const { pendingActivities } = (await handle.describe()).raw;
  const pending = (pendingActivities ?? []).filter((one) => one.activityType?.name === type).length;
  return { scheduled, pending };
}

/** Inputs of the activities of one type that were scheduled, in order. */
export async function scheduledInputs(handle: TurnHandle, type: string): Promise<Record<string, unknown>[]> {
  const events = await eventsOf(handle);
  return events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    const payload = scheduled?.input?.payloads?.[0];
    if (scheduled?.activityType?.name !== type || payload === undefined) return [];
    return [z.record(z.string(), z.unknown()).parse(defaultPayloadConverter.fromPayload(payload))];
  });
}

function isOpenMemo(value: unknown): value is OpenMemo {
  return z.object({ key: z.string(), count: z.number(), items: z.array(z.unknown()) }).safeParse(value)
    .success;
}

function isRefused(value: unknown): value is Refused {
  return z.object({ accepted: z.literal(false), code: z.string() }).safeParse(value).success;
}

/**
 * Lets calls of `askedTools` end in every way: done, denied, expired, and in doubt. `ask`: a turn that asks for a tool. Gives
 * the turn that is in doubt.
 */
export async function endInEveryWay(
  client: Countersign,
  ask: (tool: string) => Promise<TurnHandle>,
): Promise<TurnHandle> {
  const approved = await ask('pay');
  await approveNext(client, approved.workflowId);
  await approved.result();
  const denied = await ask('pay');
  await denyNext(client, denied.workflowId);
  await denied.result();
  await (await ask('brief')).result();
  const hung = await ask('hang');
  await approveNext(client, hung.workflowId);
  await waitFor(hung, '1.1', 'in_doubt');
  return hung;
}

/** Cancels what waits in the inbox of an agent, so that the next test finds nothing there. */
export async function emptyInbox(
  client: Pick<Countersign, 'inbox' | 'cancel'>,
  agent: string,
): Promise<void> {
  for (const { turn } of await client.inbox({ agent })) await client.cancel(turn);
  await until('an empty inbox', async () => (await client.inbox({ agent })).length === 0);
}
