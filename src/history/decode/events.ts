import type { ChildEnd } from '../../contract/turn';

/** The part of a failure that the fold reads. */
export interface DecodedFailure {
  message: string;
  kind: 'application' | 'timeout' | 'canceled' | 'other';
  /** The type of an application failure, such as `countersign.model`. */
  type?: string;
  /** Set for a timeout if an attempt had sent details with a heartbeat. */
  beaten?: true;
  /** The details of the last heartbeat before a timeout. */
  beat?: unknown;
  /** Set for a cancellation if no worker had the activity. */
  untaken?: true;
  timeout?: 'START_TO_CLOSE' | 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE' | 'HEARTBEAT';
  details: unknown[];
  cause?: DecodedFailure;
}

/** The fields that every decoded event has. */
interface Head {
  eventId: number;
  /** ISO 8601. */
  at: string;
}

/** The fields that all ends of an activity share. */
interface ActivityEnd extends Head {
  scheduledEventId: number;
}

/**
 * One history event with its payloads decoded, reduced to what the fold reads. A payload that is missing or cannot be
 * decoded is `undefined`. Decoding never throws because of it.
 */
export type DecodedEvent =
  | (Head & {
      kind: 'started';
      turn: string;
      runId: string;
      continuedFrom?: string;
      taskQueue: string;
      workflowType?: string;
      /** The id of the schedule that started the run. */
      schedule?: string;
      input: unknown;
    })
  | (Head & { kind: 'task_started' })
  | (Head & { kind: 'child_initiated'; child: string; input: unknown })
  | (Head & { kind: 'child_not_started'; child: string })
  | (Head & { kind: 'child_started'; child: string })
  | (Head & { kind: 'child_ended'; child: string; end: ChildEnd })
  | (Head & { kind: 'task_completed' })
  | (Head & { kind: 'task_scheduled' })
  | (Head & { kind: 'task_failed'; message: string })
  | (Head & { kind: 'reset'; baseRunId: string; newRunId: string; message: string })
  | (Head & {
      kind: 'activity_scheduled';
      /** The number by which later events name this event. Only in a burst, where history has no such event. */
      scheduledAs?: number;
      id: string;
      activityType: string;
      taskQueue: string;
      input: unknown;
      /** The header of a gated activity of the user. */
      gate?: unknown;
    })
  | (ActivityEnd & { kind: 'activity_started'; attempt: number; lastFailure?: DecodedFailure })
  | (ActivityEnd & { kind: 'activity_completed'; result: unknown })
  | (ActivityEnd & { kind: 'activity_failed'; failure: DecodedFailure })
  | (ActivityEnd & {
      kind: 'activity_canceled';
      /** No worker had the activity. */
      untaken: boolean;
    })
  | (Head & {
      kind: 'local_activity';
      activityType: string;
      attempt: number;
      /** The local activity is tried again after a timer. */
      backsOff: boolean;
      summary?: string;
      result: unknown;
      failure?: DecodedFailure;
    })
  | (Head & { kind: 'signaled'; name: string; input: unknown; identity: string })
  /** The server has an update that it gives to the workflow later, such as an update that a reset applies again. */
  | (Head & { kind: 'update_admitted'; updateId: string; name: string; input: unknown; identity: string })
  /** If `name` is empty, the request is in the earlier event `update_admitted`. */
  | (Head & { kind: 'update_accepted'; updateId: string; name: string; input: unknown; identity: string })
  | (Head & { kind: 'update_completed'; updateId: string; value: unknown; failure?: DecodedFailure })
  | (Head & { kind: 'memo'; fields: Record<string, unknown> })
  | (Head & { kind: 'cancel_requested'; identity: string; reason?: string })
  | (Head & { kind: 'completed'; result: unknown })
  | (Head & { kind: 'failed'; failure: DecodedFailure })
  | (Head & { kind: 'canceled' })
  | (Head & { kind: 'terminated'; reason: string; identity: string })
  | (Head & { kind: 'timed_out' })
  | (Head & { kind: 'continued_as_new'; newRunId: string })
  | (Head & { kind: 'other' });

/**
 * The result of a decoder for one family of events. It is a promise only if there are payloads. Undefined: the event
 * is of another family.
 */
export type Decoding = DecodedEvent | Promise<DecodedEvent> | undefined;

/** One kind of decoded event. */
export type EventOf<K extends DecodedEvent['kind']> = Extract<DecodedEvent, { kind: K }>;
