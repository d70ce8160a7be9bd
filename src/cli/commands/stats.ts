import type { Command } from 'commander';
import type { ListQuery } from '../../client';
import { defined } from '../../history/defined';
import type { Context } from '../context';
import { statsLines } from '../print/stats';
import { withProgress } from '../progress';
import { readCount, readMoment } from '../read-value';

const LIMIT = 500;

interface StatsOptions {
  since?: string;
  agent?: string;
  tool?: string;
  limit?: string;
  json?: boolean;
}

/** `stats`. */
export function addStats(program: Command, context: Context): void {
  program
    .command('stats')
    .description('success and failure by tool, times, sizes and decisions over past turns')
    .option('--since <time>', 'only turns that are open or ended since: 2026-11-21, 24h, 7d')
    .option('--agent <name>', 'only turns of this agent')
    .option('--tool <name>', 'only calls of this tool')
    .option('--limit <count>', `at most so many turns, newest first (default: ${LIMIT})`)
    .option('--json', 'print JSON')
    .action((options: StatsOptions) => stats(options, context));
}

async function stats(options: StatsOptions, { withDesk, screen }: Context): Promise<void> {
  const { createStats } = await import('../../history/stats.js');
  const { readTurns } = await import('../../client/read-turns.js');
  const query = readQuery(options);
  const fold = createStats(defined({ tool: options.tool }));
  const found = await withDesk(async (desk) => {
    const turns = await desk.list(query);
    let done = 0;
    const say = () => `read ${done} of ${turns.length} turns`;
    await withProgress(screen, say, async () => {
      for await (const events of readTurns(desk, turns)) {
        fold.add(events);
        done += 1;
      }
    });
    return fold.stats();
  });
  if (options.json === true) screen.json(found);
  else screen.lines(statsLines(found, screen));
}

function readQuery({ since, agent, limit }: StatsOptions): ListQuery {
  return defined({
    agent,
    since: since === undefined ? undefined : readMoment(since, '--since', Date.now()),
    limit: limit === undefined ? LIMIT : readCount(limit, '--limit'),
  });
}
