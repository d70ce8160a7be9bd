import type { Command } from 'commander';
import type { Answer } from '../../client';
import { CountersignError } from '../../contract/errors';
import { defined } from '../../history/defined';
import { reportAnswer } from '../answer';
import { decideBatch } from '../batch/batch';
import { addBatchOptions, checkNoBatch, readBatch, type BatchOptions } from '../batch/options';
import { checkSight, chooseApproval, parseHunks, type ApprovalChoice } from '../approval';
import { decideByHunks } from '../decide/by-hunks';
import { decideByEditor } from '../decide/edited';
import { decide, idOf, requestOf, type Subject } from '../decide/subject';
import { osUser, type Context } from '../context';
import { beside } from '../print/screen';
import { readArguments } from '../read-value';
import { parseAssignment } from '../set-argument';
import { findCall, namedCall, parseTarget } from '../target';
import { canAsk, withTerminal } from '../terminal/terminal';

interface ApproveOptions extends BatchOptions {
  args?: string;
  set?: string[];
  hunks?: string;
  edit?: boolean;
  patch?: boolean;
  saw?: string;
}

/** `approve <turn>/<call>`, and `approve --all`. */
export function addApprove(program: Command, context: Context): void {
  const command = program
    .command('approve [turn/call]')
    .description('let a call run, as it is or changed; or many at once')
    .option('-e, --edit', 'change the arguments in your editor (VISUAL, EDITOR)')
    .option('-p, --patch', 'be asked about the hunks of a file proposal one by one')
    .option('--args <json|@file>', 'run it with these arguments instead')
    .option('--set <path=value>', 'change one argument; may be repeated', collect)
    .option('--hunks <ids>', 'only these parts of a file proposal, such as 1,3')
    .option('--saw <digest>', 'only if it is still what `show` printed this digest of')
    .option('--reason <text>', 'why; the model reads it')
    .option('--as <name>', 'who decides (default: your name on this machine)')
    .option('--json', 'print the answer as JSON');
  addBatchOptions(command).action((target: string | undefined, options: ApproveOptions) =>
    options.all === true ? approveAll(target, options, context) : approve(target, options, context),
  );
}

async function approveAll(
  target: string | undefined,
  options: ApproveOptions,
  context: Context,
): Promise<void> {
  const { edit, patch, args, set, hunks, saw } = options;
  const [own] =
    Object.entries({ edit, patch, args, set, hunks, saw }).find(([, value]) => value !== undefined) ?? [];
  if (own !== undefined) {
    const hint = 'Calls are approved together only as they are.';
    throw new CountersignError('usage', `--${own} and --all exclude each other`, { hint });
  }
  await decideBatch(readBatch(options, 'approved', target), context);
}

async function approve(target: string | undefined, options: ApproveOptions, context: Context): Promise<void> {
  checkNoBatch(options);
  const named = parseTarget(namedCall(target));
  checkWays(options);
  const choice = await readChoice(options);
  const { screen } = context;
  const json = options.json === true;
  await context.withDesk(async (desk) => {
    const turn = await desk.find(named.turn);
    const call = findCall(await desk.view(turn), named.call);
    const said = { approver: options.as ?? osUser(), ...defined({ reason: options.reason }) };
    const at = { ...context, screen: json ? beside(screen) : screen };
    const subject: Subject = { desk, turn, call, said, context: at };
    const answer = await decideBy(options, { subject, choice }, context);
    reportAnswer(answer, { id: idOf(subject), json }, screen);
  });
}

interface Chosen {
  subject: Subject;
  choice: ApprovalChoice;
}

async function decideBy(
  { edit, patch }: ApproveOptions,
  { subject, choice }: Chosen,
  { keyboard }: Context,
): Promise<Answer> {
  if (patch === true) {
    const hint = 'Name the hunks with --hunks instead.';
    return withTerminal(keyboard, hint, (terminal) => decideByHunks(subject, terminal));
  }
  if (edit !== true) return decide(subject, chooseApproval(subject.call, choice));
  if (canAsk(keyboard)) return withTerminal(keyboard, '', (terminal) => decideByEditor(subject, terminal));
  checkSight(requestOf(subject), choice.saw);
  return decideByEditor(subject, undefined);
}

/** The ways to change what runs; one at a time, but that `--set` goes on top of `--args`. */
function checkWays({ edit, patch, args, set, hunks }: ApproveOptions): void {
  const ways = Object.entries({
    '--edit': edit,
    '--patch': patch,
    '--args or --set': args ?? set,
    '--hunks': hunks,
  });
  const given = ways.flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const alone = given.find((name) => name === '--edit' || name === '--patch');
  if (alone === undefined || given.length < 2) return;
  const hint = 'Choose one way to say what may run.';
  throw new CountersignError('usage', `${given.join(' and ')} exclude each other`, { hint });
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
