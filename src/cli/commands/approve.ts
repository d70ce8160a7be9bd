import type { Command } from 'commander';
import { defined } from '../../history/defined';
import { reportAnswer } from '../answer';
import { chooseApproval, parseHunks, type ApprovalChoice } from '../approval';
import { osUser, type Context } from '../context';
import { readArguments } from '../read-value';
import { parseAssignment } from '../set-argument';
import { findCall, parseTarget } from '../target';

interface ApproveOptions {
  args?: string;
  set?: string[];
  hunks?: string;
  saw?: string;
  reason?: string;
  as?: string;
  json?: boolean;
}

/** `approve <turn>/<call>`. */
export function addApprove(program: Command, context: Context): void {
  program
    .command('approve <turn/call>')
    .description('let a call run, as it is or changed')
    .option('--args <json|@file>', 'run it with these arguments instead')
    .option('--set <path=value>', 'change one argument; may be repeated', collect)
    .option('--hunks <ids>', 'only these parts of a file proposal, such as 1,3')
    .option('--saw <digest>', 'only if it is still what `show` printed this digest of')
    .option('--reason <text>', 'why; the model reads it')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--json', 'print the answer as JSON')
    .action((target: string, options: ApproveOptions) => approve(target, options, context));
}

async function approve(target: string, options: ApproveOptions, context: Context): Promise<void> {
  const named = parseTarget(target);
  const choice = await readChoice(options);
  await context.withDesk(async (desk) => {
    const turn = await desk.find(named.turn);
    const call = findCall(await desk.view(turn), named.call);
    const answer = await desk.decide(turn, {
      ...chooseApproval(call, choice),
      ...defined({ reason: options.reason }),
      approver: options.as ?? osUser(),
      channel: 'cli',
    });
    reportAnswer(answer, { id: `${turn}/${call.callId}`, json: options.json === true }, context.screen);
  });
}

async function readChoice({ args, set = [], hunks, saw }: ApproveOptions): Promise<ApprovalChoice> {
  return {
    assignments: set.map(parseAssignment),
    ...(args === undefined ? {} : { arguments: await readArguments(args) }),
    ...(hunks === undefined ? {} : { hunks: parseHunks(hunks) }),
    ...defined({ saw }),
  };
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
