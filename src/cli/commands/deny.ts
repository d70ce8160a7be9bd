import type { Command } from 'commander';
import { reportAnswer } from '../answer';
import { seen } from '../approval';
import { osUser, type Context } from '../context';
import { findCall, parseTarget } from '../target';

interface DenyOptions {
  reason: string;
  as?: string;
  json?: boolean;
}

/** `deny <turn>/<call>`. */
export function addDeny(program: Command, context: Context): void {
  program
    .command('deny <turn/call>')
    .description('keep a call from running')
    .requiredOption('--reason <text>', 'why; the model reads it')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--json', 'print the answer as JSON')
    .action((target: string, options: DenyOptions) => deny(target, options, context));
}

async function deny(target: string, options: DenyOptions, context: Context): Promise<void> {
  const named = parseTarget(target);
  await context.withDesk(async (desk) => {
    const turn = await desk.find(named.turn);
    const call = findCall(await desk.view(turn), named.call);
    const answer = await desk.decide(turn, {
      callId: call.callId,
      decision: 'denied',
      ...seen(call),
      reason: options.reason,
      approver: options.as ?? osUser(),
      channel: 'cli',
    });
    reportAnswer(answer, { id: `${turn}/${call.callId}`, json: options.json === true }, context.screen);
  });
}
