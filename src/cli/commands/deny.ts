import type { Command } from 'commander';
import { reportAnswer } from '../answer';
import { addBatchOptions, type BatchOptions, checkNoBatch, decideBatch, readBatch } from '../batch';
import { decide, idOf, type Subject } from '../review/decision';
import { type Context, osUser } from '../context';
import { findCall, namedCall, parseTarget } from '../target';

interface DenyOptions extends BatchOptions {
  reason: string;
}

/** `deny <turn>/<call>`, and `deny --all`. */
export function addDeny(program: Command, context: Context): void {
  const command = program
    .command('deny [turn/call]')
    .description('deny a call; or many at once')
    .requiredOption('--reason <text>', 'why; the model reads it')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--json', 'print the answer as JSON');
  addBatchOptions(command).action(async (target: string | undefined, options: DenyOptions) =>
    options.all === true
      ? decideBatch(await readBatch(options, 'denied', target), context)
      : deny(target, options, context),
  );
}

async function deny(target: string | undefined, options: DenyOptions, context: Context): Promise<void> {
  checkNoBatch(options);
  const named = parseTarget(namedCall(target));
  const { reason, as, json = false } = options;
  await context.withClient(async (client) => {
    const turn = await client.find(named.turn);
    const view = await client.view(turn);
    const said = { approver: as ?? osUser(), reason };
    const subject: Subject = {
      ...{ client, turn, said, context },
      ...{ agent: view.agent, call: findCall(view, named.call) },
    };
    const answer = await decide(subject, { decision: 'denied' });
    reportAnswer(answer, { id: idOf(subject), json }, context.screen);
  });
}
