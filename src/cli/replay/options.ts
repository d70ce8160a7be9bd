import { CountersignError } from '../../contract/errors';
import { readTime } from '../read-value';

/** What `replay` was asked on the command line. */
export interface ReplayOptions {
  last?: string;
  query?: string;
  workflows?: string;
  inspect?: boolean;
  at?: string;
  port: string;
  taskTimeout?: string;
  json?: boolean;
}

/** @throws CountersignError `usage` for options that do not go together. */
export function refuseMistakes(named: string | undefined, options: ReplayOptions): void {
  refuseNothing(named, options);
  refuseHalfInspect(options);
}

/** A live worker ends code after 5 s of it. A busy machine, and its slowest turn, get four times as long. */
const TASK_TIMEOUT_MS = 20_000;

/** How long the code may work on one workflow task, in milliseconds. */
export function taskTimeoutOf({ taskTimeout }: Pick<ReplayOptions, 'taskTimeout'>): number {
  if (taskTimeout === undefined) return TASK_TIMEOUT_MS;
  const ms = readTime(taskTimeout, '--task-timeout');
  if (ms > 0) return ms;
  throw new CountersignError('usage', `--task-timeout ${taskTimeout}: the code needs some time`);
}

function refuseNothing(named: string | undefined, { last, query }: ReplayOptions): void {
  const batch = last !== undefined || query !== undefined;
  if (batch !== (named !== undefined)) return;
  const message = batch ? 'a turn goes without --last and --query' : 'nothing is named to replay';
  throw new CountersignError('usage', message, {
    hint: 'name a turn or an exported file, or say --last 200.',
  });
}

function refuseHalfInspect({ inspect, at, last, query, taskTimeout }: ReplayOptions): void {
  if (inspect === true && (last !== undefined || query !== undefined))
    throw new CountersignError('usage', '--inspect takes one turn', {
      hint: 'name a turn or an exported file.',
    });
  if (inspect === true && taskTimeout !== undefined)
    throw new CountersignError('usage', '--inspect goes without --task-timeout', {
      hint: 'whoever steps through the code may take any time.',
    });
  if (inspect !== true && at !== undefined)
    throw new CountersignError('usage', '--at goes with --inspect', {
      hint: '`countersign timeline --at` shows a turn as it was.',
    });
}
