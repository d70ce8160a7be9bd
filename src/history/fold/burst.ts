import {
  burstCallInput,
  type BurstCall,
  type BurstOutput,
  type BurstStep,
  endedIn,
  refsOf,
} from '../../contract/burst/burst';
import { readBurstOutput } from '../../contract/burst/read';
import { isValidCall } from '../../contract/call';
import { ACTIVITIES, activityIds, parseActivityId } from '../../contract/names';
import type { DecodedEvent, EventOf } from '../decode/events';
import { is } from './guards';

/** An activity that may have been a burst: its activity when it was scheduled, and when it ended. */
interface BurstRecord {
  scheduled: EventOf<'activity_scheduled'>;
  completed: EventOf<'activity_completed'>;
}

/**
 * The events that the steps of a burst would have made as separate activities. They begin with the reply of the first
 * step, because its `think` was scheduled with the burst. Each event has its own time. All have the id of the event
 * that completed the burst, because a reset takes them back together. Any other output is the output of a single
 * `think`.
 */
export function expandBurst(record: BurstRecord, output = burstOutputOf(record)): DecodedEvent[] {
  if (output === undefined) return [record.completed];
  return output.steps.flatMap((step, index) => stepEvents(step, { ...record, output, index }));
}

/** What a burst returned. Undefined for a single step, and for a part of a burst, which is not another burst. */
export function burstOutputOf({ scheduled, completed }: BurstRecord): BurstOutput | undefined {
  return scheduled.scheduledAs === undefined ? readBurstOutput(completed.result) : undefined;
}

interface Place extends BurstRecord {
  output: BurstOutput;
  index: number;
}

function stepEvents(step: BurstStep, place: Place): DecodedEvent[] {
  const { completed, index } = place;
  const replied = { ...completed, at: timeOf(step.replied, place), result: step.reply };
  return [
    ...(index === 0 ? [] : asked(step, place)),
    ...(index === 0 ? [replied] : [{ ...replied, scheduledEventId: keyOf(place) }]),
    ...(step.calls === undefined ? [] : callEvents(step, step.calls, place)),
  ];
}

/**
 * When something in a burst happened. The worker only counts milliseconds, and the server's time of the end is the
 * reference. So the worker's clock need not be right.
 */
function timeOf(ms: number, { output, scheduled, completed }: Place) {
  const end = Date.parse(completed.at);
  const at = Math.max(Date.parse(scheduled.at), end - Math.max(0, output.ms - ms));
  return Number.isNaN(at) ? completed.at : new Date(at).toISOString();
}

/**
 * A number in place of the id of an event that history does not have. It is below zero, because ids of real events are
 * above zero.
 */
function keyOf({ index }: Place, call = 0) {
  return -(index * CALLS + call + 1);
}

/** A number that is larger than the number of calls in any reply. */
const CALLS = 100_000;

function asked(step: BurstStep, place: Place): DecodedEvent[] {
  const { scheduled, index, output, completed } = place;
  const before = output.steps[index - 1];
  const number = stepOf(scheduled) + index;
  const input = is.thinkInput(scheduled.input) ? scheduled.input : { agent: '', droppedBefore: 0 };
  const { agent } = input;
  const shortened = output.steps.slice(0, index).findLast(({ reply }) => reply.droppedBefore !== undefined);
  const droppedBefore = shortened?.reply.droppedBefore ?? input.droppedBefore;
  const results = before === undefined ? [] : refsOf(endedIn(before));
  return [
    {
      kind: 'activity_scheduled',
      eventId: completed.eventId,
      at: timeOf(step.asked, place),
      scheduledAs: keyOf(place),
      id: activityIds.think(number),
      activityType: ACTIVITIES.think,
      taskQueue: scheduled.taskQueue,
      input: { agent, step: number, results, droppedBefore, words: [] },
    },
  ];
}

function stepOf({ input, id }: EventOf<'activity_scheduled'>) {
  return is.thinkInput(input) ? input.step : Number(parseActivityId(id)?.of ?? 0);
}

/**
 * The events of the calls of a step, by time. If a start and an end have the same time, the start comes first. If
 * each call waits for the call before it, the events of each call stay together.
 */
function callEvents(step: BurstStep, calls: readonly BurstCall[], place: Place): DecodedEvent[] {
  const all = calls.map((call, index) => callEvent(step, call, { ...place, call: index }));
  if (step.reply.order === 'strict') return all.flatMap(({ started, ended }) => [...started, ended]);
  const starts = all.flatMap(({ started, at }) => started.map((event) => ({ at: at.started, event })));
  const ends = all.map(({ ended, at }) => ({ at: at.ended, event: ended }));
  return [...starts, ...ends].sort((one, other) => one.at - other.at).map(({ event }) => event);
}

/** The events that start and end one call, with their times. */
interface CallEvents {
  started: DecodedEvent[];
  ended: DecodedEvent;
  at: Pick<BurstCall, 'started' | 'ended'>;
}

function callEvent(step: BurstStep, call: BurstCall, place: Place & { call: number }): CallEvents {
  const { scheduled, completed } = place;
  const { reply } = step;
  const asked = reply.calls.filter(isValidCall).find(({ callId }) => callId === call.callId);
  const { agent = '' } = is.thinkInput(scheduled.input) ? scheduled.input : {};
  const { eventId } = completed;
  const key = keyOf(place, place.call + 1);
  const at = timeOf(call.started, place);
  return {
    started: [
      {
        kind: 'activity_scheduled',
        eventId,
        at,
        scheduledAs: key,
        id: activityIds.call(call.callId, 0),
        activityType: asked?.tool ?? '',
        taskQueue: scheduled.taskQueue,
        input: asked && burstCallInput(asked, { agent, replyId: reply.replyId, originalRunId: '' }),
      },
      { kind: 'activity_started', eventId, at, scheduledEventId: key, attempt: call.attempts },
    ],
    ended: {
      kind: 'activity_completed',
      eventId,
      at: timeOf(call.ended, place),
      scheduledEventId: key,
      result: call.output,
    },
    at: call,
  };
}

/**
 * Why the request for one more step failed at the end of a burst. Undefined if the request did not fail. Also undefined
 * if the next activity only fails with this error, because history then has that failure.
 */
export function failedAfter(output: BurstOutput | undefined): string | undefined {
  const failed = output?.failed;
  return failed?.isLast === true ? undefined : failed?.message;
}
