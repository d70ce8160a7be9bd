import type { Command } from 'commander';
import { CountersignError } from '../../contract/errors';
import { defined } from '../../history/defined';
import { osUser } from '../context';
import { addInboxFilters, readInboxQuery, type InboxFilters } from '../inbox-filters';
import type { Batch } from './batch';
import { parseWhere } from './parse-where';

/** Options of a command that can decide many at once. */
export interface BatchOptions extends InboxFilters {
  all?: boolean;
  where?: string;
  yes?: boolean;
  reason?: string;
  as?: string;
  json?: boolean;
}

/** Adds these options to a command; `--reason`, `--as` and `--json` are its own. */
export function addBatchOptions(command: Command): Command {
  return addInboxFilters(
    command
      .option('--all', 'decide many at once: those that the following options choose')
      .option('--where <condition>', `only calls of which this is true, such as 'args.amount<50'`)
      .option('-y, --yes', 'with --all: do not ask'),
  );
}

/**
 * The batch that options mean.
 *
 * @throws CountersignError `usage` where they choose nothing in particular, or do not fit together.
 */
export function readBatch(options: BatchOptions, decision: 'approved' | 'denied', target?: string): Batch {
  const { where, yes = false, json = false, as, reason } = options;
  if (target !== undefined)
    throw usage('--all and a call exclude each other', 'Name one call, or choose many.');
  if (decision === 'approved' && options.tool === undefined) {
    throw usage(
      'approve --all needs --tool',
      'Only calls of one tool are alike enough to be approved together.',
    );
  }
  if (decision === 'denied' && [options.tool, options.agent, where].every((one) => one === undefined)) {
    throw usage('deny --all needs --tool, --agent or --where', 'Say which calls are meant.');
  }
  return {
    query: readInboxQuery(options),
    wish: { decision, where: where === undefined ? undefined : parseWhere(where), now: Date.now() },
    said: { approver: as ?? osUser(), ...defined({ reason }) },
    yes,
    json,
  };
}

/** @throws CountersignError `usage` for options of a batch without `--all`. */
export function checkNoBatch({ where, yes, tool, agent, olderThan, limit }: BatchOptions): void {
  const options = Object.entries({ where, yes, tool, agent, 'older-than': olderThan, limit });
  const [given] = options.find(([, value]) => value !== undefined) ?? [];
  if (given !== undefined)
    throw usage(`--${given} goes with --all`, 'Name one call, or choose many with --all.');
}

function usage(message: string, hint: string): CountersignError {
  return new CountersignError('usage', message, { hint });
}
