import type { Command } from 'commander';
import type { Context } from '../context';
import { type VoteOptions, say } from './deny';

/** `withdraw <turn>/<call>`. */
export function addWithdraw(program: Command, context: Context): void {
  program
    .command('withdraw <turn/call>')
    .description('take back your vote on a call that still waits for others')
    .option('--reason <text>', 'why')
    .action((target: string, options: VoteOptions) => say('withdrawn', target, options, context));
}
