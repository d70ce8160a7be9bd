/**
 * What happens at a time at which a turn of the schedule is still open. `skip`: nothing. `buffer-one`: one starts when that
 * turn ends. `buffer-all`: each starts, one after another. `cancel-other`: that turn is cancelled, and the new one starts when
 * it has ended. `allow-all`: they run side by side. There is none that terminates a turn: its calls could not be cancelled.
 */
export const OVERLAP_POLICIES = ['skip', 'buffer-one', 'buffer-all', 'cancel-other', 'allow-all'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** When the turns of a schedule start. Exactly one of `cron` and `everyMs`. */
export interface ScheduleTimes {
  /** Minute, hour, day of the month, month and day of the week, or a shorthand such as `@daily`. */
  cron?: string;
  /** How often, in milliseconds, in whole seconds; counted from 1970, so each hour means on the hour. */
  everyMs?: number;
  /** IANA name of the time zone in which `cron` is read. @default 'UTC' */
  timeZone?: string;
  /** Each turn starts up to so many milliseconds later, at random. @default 0 */
  jitterMs?: number;
  /** @default 'skip' */
  overlap?: OverlapPolicy;
  /** After an outage of the server: how late a turn may still start, in milliseconds; at least 10 s. @default one day */
  catchUpMs?: number;
  /** Starts nothing until it is resumed. @default false */
  paused?: boolean;
}

/** A schedule, as a list knows it. It may be some seconds old. */
export interface ScheduleSummary {
  id: string;
  agent: string;
  /** Head of what is asked. */
  prompt: string;
  /** The cron expression, or `every 90m`, or what stands for it where it was changed elsewhere. */
  when: string;
  timeZone: string;
  paused: boolean;
  /** Why it is paused. */
  note?: string;
  /** Its next times with jitter, at most ten; ISO 8601. None where it never starts again. */
  next: string[];
  /** The newest turn that it started; absent where it started none. */
  last?: ScheduledTurn;
}

/** A turn that a schedule started. */
export interface ScheduledTurn {
  turn: string;
  /** ISO 8601. */
  at: string;
}

/** A schedule in full. */
export interface ScheduledTurns extends ScheduleSummary {
  /** Who asks for its turns. */
  requester?: string;
  metadata?: Record<string, string>;
  taskQueue: string;
  overlap: string;
  jitterMs: number;
  catchUpMs: number;
  /** How many turns it has started. */
  started: number;
  /** How many times a turn did not start, because one was still open. */
  skipped: number;
  /** How many times came too late, after an outage. */
  missed: number;
  /** The newest turns that it started, newest first. */
  recent: ScheduledTurn[];
  /** Turns of it that are open, by the schedule's own knowledge. */
  open: string[];
}
