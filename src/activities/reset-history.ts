import { Context } from '@temporalio/activity';
import { defaultPayloadConverter, optionalTsToMs } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { CallInput } from '../contract/call';
import { DECIDED_BEFORE } from '../contract/call-texts';
import { errorMessage } from '../contract/errors';
import { headerValue } from './gate/header';
import { GATE_HEADER } from '../contract/gate';
import { ACTIVITIES } from '../contract/names';
import { type HistoryEvent, isReset } from '../history/decode/decode';
import { readHistory } from '../history/read-run';
import { unlessGone } from '../history/server-errors';
import type { SignedCallFacts } from '../authority/signatures/statement';

/** Where a call belongs, as the server reports it. What the call's input says does not count. */
export type SignedPlace = Pick<SignedCallFacts, 'namespace' | 'workflowId' | 'runId'>;

/** When people were asked about a call, and when the call was scheduled. Milliseconds since 1970, by the server's clock. */
export interface RequestTimes {
  asked: number;
  scheduled: number;
}

type Payload = temporal.api.common.v1.IPayload;

/** The histories that may hold a start or a decision of a call, in a run that a reset made. */
interface ResetHistory {
  own: readonly HistoryEvent[];
  /** The history of the run that this run was reset from, then of the run that the former was reset from, and so on. */
  bases: readonly (readonly HistoryEvent[])[];
  /** Whether the server has deleted a base run. */
  isCut: boolean;
}

/**
 * Whether a reset made this run. A reset gives the run a new id and keeps the original one. Continue-as-new does not:
 * it begins a new history.
 */
export function isResetRun({ originalRunId }: CallInput): boolean {
  return runHere() !== originalRunId;
}

/** Whether a run before a reset may know the call. The turn sees its reset, and says which calls it got after that. */
export function isInherited(input: CallInput): boolean {
  return isResetRun(input) && runHere() !== input.askedIn;
}

function runHere() {
  return Context.current().info.workflowExecution?.runId ?? '';
}

/**
 * Reads something once for each attempt, however many checks ask for it. What could not be read is read again.
 */
function oncePerAttempt<T>(read: () => Promise<T>): () => Promise<T> {
  const kept = new WeakMap<Context, Promise<T>>();
  return () => {
    const context = Context.current();
    const reading = kept.get(context) ?? read();
    kept.set(context, reading);
    reading.catch(() => kept.delete(context));
    return reading;
  };
}

/**
 * The events of this run. The event that schedules the attempt is among them, and no later event could have started its
 * call before.
 */
export const ownEvents = oncePerAttempt(() => eventsOfRun(runHere()));

/**
 * Reads the history of this run and of the runs that it was reset from. Other runs that were reset from these runs can
 * only be found by visibility, and visibility proves nothing.
 *
 * @throws if a history cannot be read.
 */
export const readResetHistory = oncePerAttempt(readBases);

async function readBases(): Promise<ResetHistory> {
  const own = await ownEvents();
  const bases: HistoryEvent[][] = [];
  const seen = new Set<string>();
  for (let runId = baseRunIn(own); runId !== undefined && !seen.has(runId);) {
    seen.add(runId);
    const base = await unlessGone(eventsOfRun(runId));
    if (base === undefined) return { own, bases, isCut: true };
    bases.push(base);
    runId = baseRunIn(base);
  }
  return { own, bases, isCut: false };
}

/** The run that the last reset started from. A reset leaves a failed workflow task that names this run. */
function baseRunIn(events: readonly HistoryEvent[]) {
  return events.findLast(isReset)?.workflowTaskFailedEventAttributes?.baseRunId || undefined;
}

/** Where this activity belongs, as the server says when it hands the activity out. */
export function placeHere(): SignedPlace {
  const { workflowExecution: { workflowId, runId } = { workflowId: '', runId: '' }, namespace } =
    Context.current().info;
  return { namespace, workflowId, runId };
}

/** Every event of a run of this workflow so far. */
async function eventsOfRun(runId: string): Promise<HistoryEvent[]> {
  const { info, client } = Context.current();
  const server = { connection: client.connection, namespace: info.namespace };
  const run = { turn: info.workflowExecution?.workflowId ?? '', runId };
  return (await readHistory(server, run)).events ?? [];
}

/** Whether a run before a reset had already scheduled the same call (same key and generation). */
export async function wasScheduledBefore({ bases }: ResetHistory, input: CallInput): Promise<boolean> {
  for (const event of bases.flat()) if (await isScheduleOf(event, input)) return true;
  return false;
}

/** Whether an event schedules exactly this call: same key and generation. */
export async function isScheduleOf(
  { activityTaskScheduledEventAttributes: scheduled }: HistoryEvent,
  input: Pick<CallInput, 'callKey' | 'generation'>,
): Promise<boolean> {
  if (!scheduled) return false;
  // The activities of a user's own workflow have any arguments. A gated one says in its header which call it is.
  const header = scheduled.header?.fields?.[GATE_HEADER];
  const name = CallName.safeParse(
    header ? headerValue(header) : await decode(scheduled.input?.payloads?.[0]),
  );
  return name.data?.callKey === input.callKey && name.data.generation === input.generation;
}

/** The runs that this run continues, the latest first, if the server still has them. */
async function readContinued(own: readonly HistoryEvent[]): Promise<HistoryEvent[][]> {
  const runs: HistoryEvent[][] = [];
  for (let events: readonly HistoryEvent[] | undefined = own; events !== undefined;) {
    const before: string | null | undefined =
      events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    events = before ? await unlessGone(eventsOfRun(before)) : undefined;
    if (events !== undefined) runs.push([...events]);
  }
  return runs;
}

/**
 * When people were asked about a call as it is now, by the last event that made its request. A run that continues
 * another one asks about the same once more, and the time goes on. A request that no history shows was made only when
 * the call was scheduled.
 */
export async function requestTimes({ callId }: CallInput): Promise<RequestTimes> {
  const scheduled = Context.current().info.scheduledTimestampMs;
  const own = await ownEvents();
  let asked = scheduled;
  for (const events of [own, ...(await readContinued(own))]) {
    const times = await requestsIn(events, callId);
    asked = times.at(-1) ?? asked;
    if (times.length !== 1) break;
  }
  return { asked, scheduled };
}

/**
 * When the requests for a call were made. If it was to run without one, the output of the call says that people have to
 * be asked.
 */
async function requestsIn(events: readonly HistoryEvent[], callId: string) {
  const { activityId, scheduledTimestampMs } = Context.current().info;
  const activities = new Map(
    events.map(({ eventId, activityTaskScheduledEventAttributes: of }) => [String(eventId), of]),
  );
  const times: number[] = [];
  for (const event of events) {
    const by = activities.get(String(event.activityTaskCompletedEventAttributes?.scheduledEventId));
    const isCall = by?.activityId === activityId;
    if (isCall ? times.length > 0 : !MAKERS.has(by?.activityType?.name ?? '')) continue;
    const output = await outputOf(event);
    const asks = isCall
      ? ASKED_AGAIN.safeParse(output).success
      : Replies.parse(output)
          .flatMap(({ calls }) => calls)
          .some((call) => call.callId === callId && call.kind === 'ask' && call.grant === undefined);
    if (asks) times.push(optionalTsToMs(event.eventTime) ?? scheduledTimestampMs);
  }
  return times;
}

const MAKERS = new Set<string>([
  ...[ACTIVITIES.think, ACTIVITIES.burst, ACTIVITIES.prepare, ACTIVITIES.gate],
]);

/** The output of an activity by which people are asked. */
const ASKED_AGAIN = z.object({ askAgain: z.string() });

const PROOF = { proof: z.string().optional() };
/** The outputs of an activity that did not start its call. */
const GIVEN_BACK = z.union([
  z.object({ askAgain: z.string(), ...PROOF }),
  z.object({ notHere: z.string(), ...PROOF }),
  z.object({ paused: z.string(), ...PROOF }),
]);

/** The output of an activity that did not start its call. Undefined: it says something else. */
export async function givenBackBy(event: HistoryEvent): Promise<{ proof?: string } | undefined> {
  return GIVEN_BACK.safeParse(await outputOf(event)).data;
}

/** The part of a call's input that names the call. */
const CallName = z.object({ callKey: z.string(), generation: z.number() });

/**
 * Why the decision on a repeatable call is void, so that the call needs another one. In a run that a reset made, a
 * decision counts only if it was made after the reset. Undefined: it counts.
 */
export async function voidDecision(input: CallInput): Promise<string | undefined> {
  if (input.decision === undefined || !isInherited(input)) return undefined;
  try {
    return (await isAllowedHere(await readResetHistory(), input)) ? undefined : DECIDED_BEFORE;
  } catch (error) {
    return `whether it was ${DECIDED_BEFORE} could not be read: ${errorMessage(error)}`;
  }
}

/**
 * Whether a run before a reset may have run an idempotent call, which then may run again. A history that cannot be read
 * counts as a start.
 */
export async function mayHaveRunBeforeReset(input: CallInput): Promise<boolean> {
  if (input.effect !== 'idempotent' || !isInherited(input)) return false;
  try {
    const history = await readResetHistory();
    return history.isCut || (await wasScheduledBefore(history, input));
  } catch {
    return true;
  }
}

/**
 * Whether the call was decided on after the last reset. The turn sees its reset, and says so. A message from before the
 * reset may have been sent once more. It was written for the request as it was shown then, so it counts no more.
 */
export async function isAllowedHere({ own, bases }: ResetHistory, input: CallInput): Promise<boolean> {
  const { decision, decidedIn } = input;
  if (decision === undefined || decidedIn !== runHere()) return false;
  for (const event of [...own.slice(0, own.findLastIndex(isReset)), ...bases.flat()])
    if ((await decisionIdIn(event)) === decision.decisionId) return false;
  return true;
}

const Message = z.object({ decisionId: z.string() });

/** The id of the decision or resolution that came with an event. An update that is applied again is admitted first. */
async function decisionIdIn(event: HistoryEvent) {
  const { workflowExecutionSignaledEventAttributes: signal } = event;
  const request =
    event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest ??
    event.workflowExecutionUpdateAdmittedEventAttributes?.request;
  const sent = signal?.input ?? request?.input?.args;
  return Message.safeParse(await decodeOrNothing(sent?.payloads?.[0])).data?.decisionId;
}

const Call = z.object({ callId: z.string(), kind: z.string(), grant: z.unknown().optional() });
const Reply = z.object({ calls: z.array(Call).catch([]) });
/** The replies in the output of a step, or of a burst with several steps. A call that was prepared alone is of none. */
const Replies = z
  .union([
    z
      .object({ steps: z.array(z.object({ reply: Reply })) })
      .transform(({ steps }) => steps.map(({ reply }) => reply)),
    z.object({ call: Call }).transform(({ call }) => [{ calls: [call] }]),
    Reply.transform((reply) => [reply]),
  ])
  .catch([]);

/** The output of an activity that completed. Undefined if there is none that can be read. */
function outputOf({ activityTaskCompletedEventAttributes: completed }: HistoryEvent) {
  return decodeOrNothing(completed?.result?.payloads?.[0]);
}

/** Decodes a payload from any sender. Undefined if it cannot be read. */
async function decodeOrNothing(payload: Payload | null | undefined) {
  return decode(payload).catch(() => undefined);
}

async function decode(payload: Payload | null | undefined) {
  if (!payload) return undefined;
  const { info, client } = Context.current();
  const { namespace, loadedDataConverter } = client.options;
  const owner = {
    type: 'workflow',
    namespace,
    workflowId: info.workflowExecution?.workflowId ?? '',
  } as const;
  let plain = [payload];
  for (const codec of loadedDataConverter.payloadCodecs.toReversed())
    plain = await codec.decode(plain, owner);
  const [only] = plain;
  return only === undefined ? undefined : defaultPayloadConverter.fromPayload(only);
}
