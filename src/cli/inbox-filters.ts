import type { Command } from 'commander';
import type { InboxQuery } from '../client';
import { defined } from '../history/defined';
import { readCount, readTime } from './read-value';

/** Options that choose what of the inbox is meant. */
export interface InboxFilters {
  tool?: string;
  agent?: string;
  olderThan?: string;
  limit?: string;
}

/** Adds these options to a command; `most` is what it takes without `--limit`. */
export function addInboxFilters(command: Command, most = 100): Command {
  return command
    .option('--tool <name>', 'only calls of this tool')
    .option('--agent <name>', 'only turns of this agent')
    .option('--older-than <time>', 'only what waits for longer, such as 10m')
    .option('--limit <count>', `at most so many (default: ${most})`);
}

/** @throws CountersignError `usage` for what cannot be read. */
export function readInboxQuery({ tool, agent, olderThan, limit }: InboxFilters): InboxQuery {
  return defined({
    tool,
    agent,
    olderThanMs: olderThan === undefined ? undefined : readTime(olderThan, '--older-than'),
    limit: limit === undefined ? undefined : readCount(limit, '--limit'),
  });
}
