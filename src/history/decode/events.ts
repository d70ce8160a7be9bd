import type { ChildEnd } from '../../contract/turn';

/** The part of a failure that the fold reads. */
export interface DecodedFailure {
  message: string;
  kind: 'application' | 'timeout' | 'canceled' | 'other';
  /** Of an application failure, such as `countersign.model`. */
  type?: string;
  /** Of a timeout: some attempt had sent details with a heartbeat. */
  beaten?: true;
  /** Of a timeout: what the last heartbeat said. */
  beat?: unknown;
  /** Of a cancellation: no worker had the activity. */
  untaken?: true;
  timeout?: 'START_TO_CLOSE' | 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE' | 'HEARTBEAT';
  details: unknown[];
  cause?: DecodedFailure;
}

/** What every decoded event has. */
interface Head {
  eventId: number;
  /** ISO 8601. */
  at: string;
}

/** Fields that end an activity share. */
interface ActivityEnd extends Head {
  scheduledEventId: number;
}

/**
 * One history event with its payloads decoded, cut to what the fold reads.
 * A payload that is missing or cannot be decoded is `undefined`; decoding never throws on one.
 */
export type DecodedEvent =
  | (Head & {
      kind: 'started';
      turn: string;
      runId: string;
      /** Of the chain of runs. */
      firstRunId?: string;
      continuedFrom?: string;
      taskQueue: string;
      workflowType?: string;
      /** Id of the schedule that started it. */
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
      /** Only within a burst, where no event of history tells it: by what its other events name it. */
      scheduledAs?: number;
      id: string;
      activityType: string;
      taskQueue: string;
      input: unknown;
    })
  | (ActivityEnd & { kind: 'activity_started'; attempt: number; lastFailure?: DecodedFailure })
  | (ActivityEnd & { kind: 'activity_completed'; result: unknown })
  | (ActivityEnd & { kind: 'activity_failed'; failure: DecodedFailure })
  | (ActivityEnd & {
      kind: 'activity_canceled';
      /** No worker had it. */
      untaken: boolean;
    })
  | (Head & {
      kind: 'local_activity';
      activityType: string;
      attempt: number;
      /** It will be tried again after a timer. */
      backsOff: boolean;
      summary?: string;
      result: unknown;
      failure?: DecodedFailure;
    })
  | (Head & { kind: 'signaled'; name: string; input: unknown; identity: string })
  /** The server has an update that it gives to the workflow later, such as one that a reset applies again. */
  | (Head & { kind: 'update_admitted'; updateId: string; name: string; input: unknown; identity: string })
  /** Without a name: its request is that of the `update_admitted` before. */
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

/** What a decoder of one family of events gives. A promise only where there are payloads; undefined for another family. */
export type Decoding = DecodedEvent | Promise<DecodedEvent> | undefined;

/** One kind of decoded event. */
export type EventOf<K extends DecodedEvent['kind']> = Extract<DecodedEvent, { kind: K }>;
