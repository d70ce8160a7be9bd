import type { StartRequest } from './types';

/**
 * What happens at a time at which a turn of the schedule is still open. `skip`: nothing. `buffer-one`: one starts when that
 * turn ends. `buffer-all`: each starts, one after another. `cancel-other`: that turn is cancelled, and the new one starts when
 * it has ended. `allow-all`: they run side by side. There is none that terminates a turn: its calls could not be cancelled.
 */
export const OVERLAP_POLICIES = ['skip', 'buffer-one', 'buffer-all', 'cancel-other', 'allow-all'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** A schedule to make, and the turn that it starts each time; `requester` is who owns it. Exactly one of `cron` and `everyMs`. */
export interface ScheduleRequest extends Omit<StartRequest, 'id'> {
  /** As the id of a turn, at most 150 characters. The turns are called `<id>-<time in UTC>`. */
  id: string;
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
  /** The cron expression, or `every 90m`, or what is left of it where somebody changed it elsewhere. */
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

/** Turns that start by themselves: Temporal Schedules that start a turn each. Each may throw `schedule_not_found`, `no_server`, `server_failed`. */
export interface Schedules {
  /**
   * Makes a schedule. Whether any worker has the agent is not asked.
   *
   * @throws CountersignError `usage` for a wrong time, zone or turn, and for times that never come; `schedule_exists`.
   */
  add(request: ScheduleRequest): Promise<ScheduledTurns>;
  /** Those that start turns, by id. Schedules of other workflows are left out. */
  list(): Promise<ScheduleSummary[]>;
  get(id: string): Promise<ScheduledTurns>;
  /** The times at which it starts a turn between two moments, without jitter, whether it is paused or not; ISO 8601, at most 1,000. */
  times(id: string, from: string, to: string): Promise<string[]>;
  /** Deletes it. Turns that it started go on. */
  remove(id: string): Promise<void>;
  pause(id: string, reason?: string): Promise<void>;
  resume(id: string, reason?: string): Promise<void>;
  /** Starts a turn now, also while it is paused or another one is open. Undefined where the server does not name the turn within 5 s. */
  run(id: string): Promise<string | undefined>;
}
