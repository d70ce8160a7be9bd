import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { reportAnswer } from '../answer';
import { addBatchOptions, type BatchFlags, checkNoBatch, decideBatch, readBatch } from '../batch';
import { decide, idOf, type Subject } from '../review/decision';
import type { Context } from '../context';
import type { TurnView } from '../../history/view-types';
import { beside } from '../print/screen';
import { addSignOption, type Signer, signerOf, type SignOptions } from '../review/sign';
import { findCall, namedCall, parseTarget } from '../target';
import { usageError } from '../../contract/errors';

interface DenyOptions extends BatchFlags, SignOptions {
  reason: string;
  suggest?: string;
}

/** `deny <turn>/<call>`, and `deny --all`. */
export function addDeny(program: Command, context: Context): void {
  const command = program
    .command('deny [turn/call]')
    .description('deny a call; or many at once')
    .requiredOption('--reason <text>', 'why; the model reads it')
    .option('--suggest <text>', 'what the model should do instead, in your words');
  addBatchOptions(addSignOption(command)).action(async (target: string | undefined, options: DenyOptions) => {
    if (options.reason.trim() === '') throw usageError('--reason is empty: say why');
    if (options.all === true) {
      if (options.suggest !== undefined)
        throw usageError('--suggest goes with one call', 'Deny the others with --reason alone.');
      return decideBatch(await readBatch(options, 'denied', context.as, target), context);
    }
    checkNoBatch(options);
    return say('denied', namedCall(target), options, context);
  });
}

/** The options of a command about one call. */
export type VoteOptions = Partial<Pick<DenyOptions, 'reason' | 'suggest' | keyof SignOptions>>;

/** Denies a call, or withdraws a vote on it, and prints the answer. */
export async function say(
  decision: 'denied' | 'withdrawn',
  target: string,
  options: VoteOptions,
  context: Context,
): Promise<void> {
  await withSubject(target, options, context, async (subject) => {
    const answer = await decide(subject, { decision });
    reportAnswer(answer, { id: idOf(subject), json: context.json }, context.screen);
  });
}

/** Where the call of a command was found, and how to print beside its answer. */
interface Found {
  client: Countersign;
  view: TurnView;
  signer: Signer | undefined;
  context: Context;
}

/** Finds the call that a command names, and the person who speaks. */
export async function withSubject(
  target: string,
  options: VoteOptions,
  { json, as, ...given }: Context,
  act: (subject: Subject, found: Found) => Promise<void>,
): Promise<void> {
  const named = parseTarget(target);
  const { reason, suggest: suggestion } = options;
  const context = { ...given, json, as, screen: json ? beside(given.screen) : given.screen };
  await context.withClient(async (client) => {
    const turn = await client.find(named.turn);
    const view = await client.view(turn);
    const call = findCall(view, named.call);
    const signer = await signerOf(options, as, { client, context });
    const { approver = as, sign } = signer ?? {};
    const said = { approver, reason, suggestion };
    const subject = { client, turn, said, context, sign, agent: view.agent, call };
    await act(subject, { client, view, signer, context });
  });
}
