import { Context } from '@temporalio/activity';
import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { optionalTsToMs } from '@temporalio/common';
import { z } from 'zod';
import { mayBeBy, readAuthority } from '../contract/authority/authority';
import type { CallInput } from '../contract/call';
import { digestJson } from '../contract/digest';
import { errorMessage } from '../contract/errors';
import { isSoundJson } from '../contract/json';
import { ACTIVITIES, callKey, SIGNALS, UPDATES } from '../contract/names';
import type { HistoryEvent } from '../history/decode/decode';
import { firstRunIn, readHistory } from '../history/read-run';
import { unlessGone } from '../history/server-errors';
import { contentDigest } from '../tools/content-digest';
import type { RequestTimes, SignedPlace } from './authority';

type Payload = temporal.api.common.v1.IPayload;

const RESET = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;

/** The histories that may hold a start or a decision of a call, in a run that a reset made. */
export interface ResetHistory {
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
  return Context.current().info.workflowExecution?.runId !== originalRunId;
}

/**
 * Reads the history of this run and of the runs that it was reset from. Other runs that were reset from these runs can
 * only be found by visibility, and visibility proves nothing.
 *
 * @throws if a history cannot be read.
 */
export function readResetHistory(): Promise<ResetHistory> {
  const context = Context.current();
  const reading = resetHistories.get(context) ?? readBases();
  resetHistories.set(context, reading);
  // What could not be read is read again.
  reading.catch(() => resetHistories.delete(context));
  return reading;
}

/** Each attempt reads its histories once, however many checks ask for them. A run that was reset is over. */
const resetHistories = new WeakMap<Context, Promise<ResetHistory>>();

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
function baseRunIn(events: readonly HistoryEvent[]): string | undefined {
  return events.findLast(isReset)?.workflowTaskFailedEventAttributes?.baseRunId || undefined;
}

function isReset({ workflowTaskFailedEventAttributes: failed }: HistoryEvent): boolean {
  return failed?.cause === RESET;
}

/** Where this activity belongs, by the first event of its workflow as the server reports it. */
export async function placeHere(): Promise<SignedPlace> {
  const { workflowExecution, namespace } = Context.current().info;
  const firstExecutionRunId = firstRunIn((await ownEvents())[0]);
  return { namespace, workflowId: workflowExecution?.workflowId ?? '', firstExecutionRunId };
}

const read = new WeakMap<Context, Promise<HistoryEvent[]>>();

/**
 * The events of this run. An attempt reads them once. The event that schedules the attempt is among them, and no later
 * event could have started its call before.
 */
export async function ownEvents(): Promise<HistoryEvent[]> {
  const context = Context.current();
  const events = read.get(context) ?? eventsOfRun(context.info.workflowExecution?.runId ?? '');
  read.set(context, events);
  return events;
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
  const name = CallName.safeParse(await decode(scheduled.input?.payloads?.[0]));
  return name.data?.callKey === input.callKey && name.data.generation === input.generation;
}

/** The runs that this run continues, the latest first, if the server still has them. */
export async function readContinued(own: readonly HistoryEvent[]): Promise<HistoryEvent[][]> {
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
export async function requestTimes({ callId }: Pick<CallInput, 'callId'>): Promise<RequestTimes> {
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
async function requestsIn(events: readonly HistoryEvent[], callId: string): Promise<number[]> {
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

const MAKERS = new Set<string>([ACTIVITIES.think, ACTIVITIES.burst, ACTIVITIES.prepare]);

/** The output of an activity by which people are asked. */
const ASKED_AGAIN = z.object({ askAgain: z.string() });

/** The outputs of an activity that did not start its call. */
const GIVEN_BACK = z.union([
  ASKED_AGAIN,
  z.object({ notHere: z.string() }),
  z.object({ paused: z.string() }),
]);

/** Whether the output of an activity says that it did not start its call. */
export async function isGivenBack(event: HistoryEvent): Promise<boolean> {
  return GIVEN_BACK.safeParse(await outputOf(event)).success;
}

/** The part of a call's input that names the call. */
const CallName = z.object({ callKey: z.string(), generation: z.number() });

/** Why a decision of an earlier run does not count, as a person reads it. */
export const DECIDED_BEFORE = 'decided before the turn was reset';

/**
 * Why the decision on a repeatable call is void, so that the call needs another one. In a run that a reset made, a
 * decision counts only if the history of this run proves that it was made after the reset. Undefined: it counts.
 */
export async function voidDecision(input: CallInput): Promise<string | undefined> {
  if (input.decision === undefined || !isResetRun(input)) return undefined;
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
  if (input.effect !== 'idempotent' || !isResetRun(input)) return false;
  try {
    const history = await readResetHistory();
    if (await wasScheduledBefore(history, input)) return true;
    return history.isCut && !(await isOfReplyHere(history, input));
  } catch {
    return true;
  }
}

/**
 * Whether this run's own history proves that the call was allowed after the last reset: by its decision or, if it
 * needs none, by the reply that asked for it. Without that proof, the decision is void. Events that a reset brings
 * along prove nothing. Events from before the reset are before its mark, and messages that are applied again are
 * between that mark and the next workflow task.
 */
export async function isAllowedHere(history: ResetHistory, input: CallInput): Promise<boolean> {
  const { own, bases } = history;
  const from = firstFresh(own);
  const fresh = own.slice(from);
  if (input.decision === undefined) return isOfReplyHere(history, input);
  const here = await messagesIn(fresh);
  if (!here.some((message) => allows(message, input))) return false;
  // A message from before the reset may have been sent again. It was written for the request as it was shown then.
  const before = await messagesIn([...own.slice(0, from), ...bases.flat()]);
  const { decisionId } = input.decision;
  return !before.some(({ content }) => content.decisionId === decisionId);
}

/** Index of the first event that the last reset did not bring along. */
function firstFresh(own: readonly HistoryEvent[]): number {
  const reset = own.findLastIndex(isReset);
  const task = own.findIndex((event, at) => at > reset && event.workflowTaskScheduledEventAttributes);
  return reset === -1 || task === -1 ? own.length : task + 1;
}

/**
 * Whether the reply that asked for a call was made after the last reset. A call's key begins with the id of its reply.
 */
export async function isOfReplyHere({ own }: ResetHistory, call: CallInput): Promise<boolean> {
  const fresh = own.slice(firstFresh(own));
  const thinks = new Set(own.filter(isThink).map(({ eventId }) => String(eventId)));
  for (const event of fresh) {
    if (!thinks.has(String(event.activityTaskCompletedEventAttributes?.scheduledEventId))) continue;
    const replies = Replies.parse(await outputOf(event));
    if (replies.some(({ replyId }) => callKey(replyId, call.callId) === call.callKey)) return true;
  }
  return false;
}

const Call = z.object({ callId: z.string(), kind: z.string(), grant: z.unknown().optional() });
const Reply = z.object({ replyId: z.string(), calls: z.array(Call).catch([]) });
/** The replies in the output of a step, or of a burst with several steps. A call that was prepared alone is of none. */
const Replies = z
  .union([
    Reply.transform((reply) => [reply]),
    z
      .object({ steps: z.array(z.object({ reply: Reply })) })
      .transform(({ steps }) => steps.map(({ reply }) => reply)),
    z.object({ call: Call }).transform(({ call }) => [{ replyId: '', calls: [call] }]),
  ])
  .catch([]);

function isThink({ activityTaskScheduledEventAttributes: scheduled }: HistoryEvent): boolean {
  const type = scheduled?.activityType?.name;
  return type === ACTIVITIES.think || type === ACTIVITIES.burst;
}

/** A decision or resolution on record. */
interface ReceivedMessage {
  kind: 'decision' | 'resolution';
  content: z.infer<typeof MessageContent>;
  /** Whether a reset applied the message again. The update is then in history a second time. */
  isAgain: boolean;
}

const MessageContent = z.object({
  callId: z.string(),
  callKey: z.string().optional(),
  decision: z.string().optional(),
  resolution: z.string().optional(),
  arguments: z.unknown().optional(),
  seenDigest: z.string().optional(),
  runId: z.string().optional(),
  hunks: z.array(z.string()).optional(),
  reason: z.string().optional(),
  approver: z.string().optional(),
  decisionId: z.string().optional(),
});

async function messagesIn(events: readonly HistoryEvent[]): Promise<ReceivedMessage[]> {
  const messages: ReceivedMessage[] = [];
  for (const event of events) {
    const sent = sentIn(event);
    const kind = sent === undefined ? undefined : KINDS.get(sent.name);
    if (sent === undefined || kind === undefined) continue;
    const { data: content } = MessageContent.safeParse(await decodeOrNothing(sent.payload));
    if (content !== undefined) messages.push({ kind, content, isAgain: sent.isAgain });
  }
  return messages;
}

const KINDS = new Map<string, ReceivedMessage['kind']>([
  [SIGNALS.approval, 'decision'],
  [UPDATES.decide, 'decision'],
  [SIGNALS.resolution, 'resolution'],
  [UPDATES.resolve, 'resolution'],
]);

interface SentMessage {
  name: string;
  payload: Payload | undefined;
  isAgain: boolean;
}

/**
 * The message in an event. An update that a reset applies again has an event of its admission with the content. The
 * event of its acceptance does not repeat the content.
 */
function sentIn(event: HistoryEvent): SentMessage | undefined {
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) return { name: signal.signalName ?? '', payload: signal.input?.payloads?.[0], isAgain: false };
  const accepted = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest;
  const request = accepted ?? event.workflowExecutionUpdateAdmittedEventAttributes?.request;
  if (!request) return undefined;
  const { name, args } = request.input ?? {};
  return { name: name ?? '', payload: args?.payloads?.[0], isAgain: !accepted };
}

/**
 * Whether a message is the decision by which a call runs. A message without an id is recognized by its whole content:
 * another message, which was refused, must not count in its place. A message that was written for another run allows
 * nothing in this run.
 */
function allows({ kind, content, isAgain }: ReceivedMessage, input: CallInput): boolean {
  const { decision } = input;
  if (decision === undefined || isAgain || content.callId !== input.callId) return false;
  if (content.runId !== undefined && content.runId !== Context.current().info.workflowExecution?.runId)
    return false;
  if (content.decisionId !== undefined) return content.decisionId === decision.decisionId;
  if (content.callKey !== undefined && content.callKey !== input.callKey) return false;
  const isTheirs = mayBeBy(decision, readAuthority(input.authority), content.approver);
  if (!isTheirs || content.reason !== decision.reason) return false;
  if (kind === 'resolution') return content.resolution === 'run-again' && input.generation > 0;
  if (content.decision === 'modified') return digestOf(content.arguments) === input.argsDigest;
  if (content.decision !== 'approved' || JSON.stringify(content.hunks) !== JSON.stringify(decision.hunks))
    return false;
  // An edit without a preview allows its arguments, but nobody was shown these for an approval.
  return content.seenDigest === undefined
    ? decision.decision === 'approved'
    : content.seenDigest === decision.seenDigest;
}

function digestOf(args: unknown): string | undefined {
  return isSoundJson(args) ? digestJson(args, contentDigest) : undefined;
}

/** The output of an activity that completed. Undefined if there is none that can be read. */
function outputOf({ activityTaskCompletedEventAttributes: completed }: HistoryEvent): Promise<unknown> {
  return decodeOrNothing(completed?.result?.payloads?.[0]);
}

/** Decodes a payload from any sender. Undefined if it cannot be read. */
async function decodeOrNothing(payload: Payload | null | undefined): Promise<unknown> {
  return decode(payload).catch(() => undefined);
}

async function decode(payload: Payload | null | undefined): Promise<unknown> {
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
