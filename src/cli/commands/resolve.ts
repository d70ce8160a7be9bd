import { Argument, type Command } from 'commander';
import { CountersignError } from '../../contract/errors';
import { RESOLUTIONS, type Resolution, type ResolutionKind } from '../../contract/decision';
import type { CallView } from '../../history/view';
import { reportAnswer } from '../answer';
import { osUser, type Context } from '../context';
import { readText } from '../read-value';
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
    .description('say what became of a call in doubt')
    .addArgument(new Argument('<outcome>', 'what you found out, or what to do').choices(RESOLUTIONS))
    .requiredOption('--reason <text>', 'how you know; the model reads it')
    .option('--content <text|@file>', 'with happened: what the call returned')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--json', 'print the answer as JSON')
    .action((target: string, outcome: ResolutionKind, options: ResolveOptions) =>
      resolve(target, { ...options, outcome }, context),
    );
}

async function resolve(
  target: string,
  options: ResolveOptions & { outcome: ResolutionKind },
  context: Context,
): Promise<void> {
  const named = parseTarget(target);
  const said = await readResolution(options);
  await context.withDesk(async (desk) => {
    const turn = await desk.find(named.turn);
    const call = findCall(await desk.view(turn), named.call);
    const answer = await desk.resolve(turn, { ...said, callId: call.callId, ...keyOf(call) });
    reportAnswer(answer, { id: `${turn}/${call.callId}`, json: options.json === true }, context.screen);
  });
}

async function readResolution({
  outcome,
  content,
  reason,
  as,
}: ResolveOptions & { outcome: ResolutionKind }): Promise<Omit<Resolution, 'callId'>> {
  if (content !== undefined && outcome !== 'happened') {
    throw new CountersignError(
      'usage',
      '--content goes with happened only: a call that did not happen returned nothing',
    );
  }
  return {
    resolution: outcome,
    reason,
    ...(content === undefined ? {} : { content: await readText(content, '--content') }),
    approver: as ?? osUser(),
    channel: 'cli',
  };
}

function keyOf({ doubt }: CallView): { callKey?: string } {
  return doubt === undefined ? {} : { callKey: doubt.callKey };
}
