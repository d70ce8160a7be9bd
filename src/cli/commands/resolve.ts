import { Argument, type Command } from 'commander';
import { defined } from '../../contract/defined';
import { RESOLUTIONS, type ResolutionKind } from '../../contract/decision';
import { reportAnswer } from '../answer';
import { osUser, type Context } from '../context';
import { readText, usageError } from '../options';
import { keyOf } from '../review/decision';
import { findCall, parseTarget } from '../target';

interface ResolveOptions {
  reason: string;
  content?: string;
  as?: string;
  json?: boolean;
}

/** `resolve <turn>/<call> happened|did-not|run-again`. */
export function addResolve(program: Command, context: Context): void {
  program
    .command('resolve <turn/call>')
    .description('resolve a call in doubt: say what happened')
    .addArgument(new Argument('<outcome>', 'what you found out, or what to do').choices(RESOLUTIONS))
    .requiredOption('--reason <text>', 'how you know; the model reads it')
    .option('--content <text|@file>', 'with happened: what the call returned')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--json', 'print the answer as JSON')
    .action((target: string, outcome: ResolutionKind, options: ResolveOptions) =>
      resolve(target, outcome, options, context),
    );
}

async function resolve(
  target: string,
  outcome: ResolutionKind,
  options: ResolveOptions,
  context: Context,
): Promise<void> {
  const { content, reason, as, json } = options;
  const named = parseTarget(target);
  if (content !== undefined && outcome !== 'happened')
    throw usageError('--content goes with happened only: a call that did not happen returned nothing');
  const returned = content === undefined ? undefined : await readText(content, '--content');
  await context.withClient(async (client) => {
    const turn = await client.find(named.turn);
    const call = findCall(await client.view(turn), named.call);
    const said = { resolution: outcome, reason, approver: as ?? osUser(), channel: 'cli' };
    const resolution = { ...said, ...defined({ content: returned }), callId: call.callId, ...keyOf(call) };
    const answer = await client.resolve(turn, resolution);
    reportAnswer(answer, { id: `${turn}/${call.callId}`, json: json === true }, context.screen);
  });
}
