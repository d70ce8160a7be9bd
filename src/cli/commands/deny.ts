import type { Command } from 'commander';
import { reportAnswer } from '../answer';
import { addBatchOptions, type BatchOptions, checkNoBatch, decideBatch, readBatch } from '../batch';
import { decide, idOf, type Subject } from '../review/decision';
import { type Context, osUser } from '../context';
import { defined } from '../../contract/defined';
import { addSignOptions, signerOf, type SignOptions } from '../review/sign';
import { findCall, namedCall, parseTarget } from '../target';

interface DenyOptions extends BatchOptions, SignOptions {
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
  addBatchOptions(addSignOptions(command)).action(async (target: string | undefined, options: DenyOptions) =>
    options.all === true
      ? decideBatch(await readBatch(options, 'denied', target), context)
      : deny(target, options, context),
  );
}

/** `withdraw <turn>/<call>`. */
export function addWithdraw(program: Command, context: Context): void {
  program
    .command('withdraw <turn/call>')
    .description('take back your vote on a call that still waits for others')
    .option('--reason <text>', 'why')
    .option('--as <name>', 'whose vote (default: your name on this machine)')
    .option('--json', 'print the answer as JSON')
    .action((target: string, options: Omit<DenyOptions, 'reason'> & { reason?: string }) =>
      say('withdrawn', target, options, context),
    );
}

async function deny(target: string | undefined, options: DenyOptions, context: Context): Promise<void> {
  checkNoBatch(options);
  await say('denied', namedCall(target), options, context);
}

type Said = Pick<DenyOptions, 'as' | 'json' | keyof SignOptions> & { reason?: string };

async function say(
  decision: 'denied' | 'withdrawn',
  target: string,
  options: Said,
  context: Context,
): Promise<void> {
  const named = parseTarget(target);
  namedCall(named.call);
  const { reason, as, json = false } = options;
  await context.withClient(async (client) => {
    const turn = await client.find(named.turn);
    const view = await client.view(turn);
    const name = as ?? osUser();
    const { approver = name, sign } = (await signerOf(options, name, { client, context })) ?? {};
    const subject: Subject = {
      ...{ client, turn, said: { approver, ...defined({ reason }) }, context, ...defined({ sign }) },
      ...{ agent: view.agent, call: findCall(view, named.call) },
    };
    const answer = await decide(subject, { decision });
    reportAnswer(answer, { id: idOf(subject), json }, context.screen);
  });
}
