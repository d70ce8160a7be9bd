import { Argument, type Command } from 'commander';
import { RESOLUTIONS, type ResolutionKind } from '../../contract/decision';
import { reportAnswer } from '../answer';
import type { Context } from '../context';
import { readText, refuseOptions } from '../flags';
import { doubtKeys, idOf, signingResolution } from '../review/decision';
import { addSignOption, type SignOptions } from '../review/sign';
import { withSubject } from './deny';

interface ResolveOptions extends SignOptions {
  reason: string;
  content?: string;
}

/** `resolve <turn>/<call> happened|did-not|run-again`. */
export function addResolve(program: Command, context: Context): void {
  const command = program
    .command('resolve <turn/call>')
    .description('resolve a call in doubt: say what happened')
    .addArgument(new Argument('<outcome>', 'what you found out, or what to do').choices(RESOLUTIONS))
    .requiredOption('--reason <text>', 'how you know; the model reads it')
    .option('--content <text|@file>', 'with happened: what the call returned');
  addSignOption(command).action((target: string, outcome: ResolutionKind, options: ResolveOptions) =>
    resolve(target, outcome, options, context),
  );
}

async function resolve(target: string, outcome: ResolutionKind, options: ResolveOptions, context: Context) {
  const { content, reason, sign } = options;
  if (outcome !== 'run-again')
    refuseOptions({ sign }, 'goes with run-again only: nothing runs by the other outcomes');
  if (outcome !== 'happened')
    refuseOptions({ content }, 'goes with happened only: a call that did not happen returned nothing');
  const returned = content === undefined ? undefined : await readText(content, '--content', context);
  await withSubject(target, options, context, async (subject, { client }) => {
    const { turn, call, said } = subject;
    const signed = await signingResolution(subject, outcome, reason);
    const { approver } = said;
    const resolution = {
      resolution: outcome,
      reason,
      approver,
      channel: 'cli',
      content: returned,
      ...signed,
      callId: call.callId,
      ...doubtKeys(call),
    };
    const answer = await client.resolve(turn, resolution);
    reportAnswer(answer, { id: idOf(subject), json: context.json }, context.screen);
  });
}
