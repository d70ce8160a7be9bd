/**
 * What happens when a turn is due while another turn of the schedule is open. `skip`: nothing. `buffer-one`: one turn
 * starts when the open turn ends. `buffer-all`: all due turns start, one after another. `cancel-other`: the open turn
 * is cancelled, and the new turn starts when it has ended. `allow-all`: the turns run side by side. No policy
 * terminates a turn, because its calls could not be cancelled then.
 */
export type OverlapPolicy = 'skip' | 'buffer-one' | 'buffer-all' | 'cancel-other' | 'allow-all';

/** When the turns of a schedule start. Exactly one of `cron` and `everyMs` is set. */
export interface ScheduleTimes {
  /** Minute, hour, day of the month, month and day of the week, or a shorthand such as `@daily`. */
  cron?: string;
  /**
   * The time between two turns, in milliseconds. It must be whole seconds. It is counted from 1970, so an hour means on
   * the hour.
   */
  everyMs?: number;
  /** IANA name of the time zone in which `cron` is read. @default 'UTC' */
  timeZone?: string;
  /** Each turn starts up to this many milliseconds later, at random. @default 0 */
  jitterMs?: number;
  /** @default 'skip' */
  overlap?: OverlapPolicy;
  /**
   * The most that a turn may start late after an outage of the server, in milliseconds. At least 10 s. @default one day
   */
  catchUpMs?: number;
  /** The schedule starts no turn until it is resumed. @default false */
  paused?: boolean;
}

/** A schedule, as a list shows it. It may be some seconds old. */
export interface ScheduleSummary {
  id: string;
  agent: string;
  /** The beginning of the prompt. */
  prompt: string;
  /** The cron expression, or `every 90m`, or a description if the schedule was changed elsewhere. */
  when: string;
  timeZone: string;
  paused: boolean;
  /** Why the schedule is paused. */
  note?: string;
  /**
   * The next times at which the schedule starts a turn, with jitter. At most ten, ISO 8601. Empty if the schedule never
   * starts a turn again.
   */
  next: string[];
  /** The newest turn that the schedule started, and when (ISO 8601). Absent if the schedule started none. */
  last?: { turn: string; at: string };
}
