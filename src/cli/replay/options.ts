import { CountersignError } from '../../contract/errors';

/** What `replay` was asked on the command line. */
export interface ReplayOptions {
  last?: string;
  query?: string;
  workflows?: string;
  inspect?: boolean;
  at?: string;
  port: string;
  json?: boolean;
}

/** @throws CountersignError `usage` for options that do not go together. */
export function refuseMistakes(named: string | undefined, options: ReplayOptions): void {
  refuseNothing(named, options);
  refuseHalfInspect(options);
}

function refuseNothing(named: string | undefined, { last, query }: ReplayOptions): void {
  const batch = last !== undefined || query !== undefined;
  if (batch !== (named !== undefined)) return;
  const message = batch ? 'a turn goes without --last and --query' : 'nothing is named to replay';
  throw new CountersignError('usage', message, {
    hint: 'name a turn or an exported file, or say --last 200.',
  });
}

function refuseHalfInspect({ inspect, at, last, query }: ReplayOptions): void {
  if (inspect === true && (last !== undefined || query !== undefined))
    throw new CountersignError('usage', '--inspect takes one turn', {
      hint: 'name a turn or an exported file.',
    });
  if (inspect !== true && at !== undefined)
    throw new CountersignError('usage', '--at goes with --inspect', {
      hint: '`countersign timeline --at` shows a turn as it was.',
    });
}
