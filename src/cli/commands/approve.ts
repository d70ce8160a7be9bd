import type { Command } from 'commander';
import { defined } from '../../contract/defined';
import { reportAnswer } from '../answer';
import { addBatchOptions, type BatchFlags, checkNoBatch, decideBatch, readBatch } from '../batch';
import {
  type ApprovalChoice,
  chooseApproval,
  type AnonymousDecision,
  decide,
  givenUp,
  idOf,
  parseHunks,
  requestOf,
  type Subject,
} from '../review/decision';
import { changedIn, checkSeenDigest, confirmDeceptiveText, SAW_HELP, wasPrinted } from '../review/seen';
import type { Context } from '../context';
import { indented } from '../print/table';
import { storyOf } from '../print/turn';
import { collect, readArguments, refuseOptions } from '../flags';
import { parseAssignments } from '../set-argument';
import { namedCall } from '../target';
import type { Answer } from '../../client';
import { asksAgainAfterEdit } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import { withDefaults } from '../../contract/schema/schema';
import type { ChangedTool } from '../../contract/worker-tools';
import type { RequestOpened } from '../../history/events';
import { titleOf } from '../../contract/text/call-title';
import { changeLines } from '../print/arguments';
import { changedLines, proposalLines, type Story } from '../print/request';
import { confirm } from '../review/confirm';
import { canAsk, type Terminal, withTerminal } from '../review/terminal';
import { decideByHunks } from '../review/hunks';
import { addGrantOptions, type GrantFlags, grantFlags, planned } from '../review/offer-grant';
import { addSignOption, type SignOptions } from '../review/sign';
import { withSubject } from './deny';
import { decideByEditor, decideChanged } from '../review/edit-arguments';
import { usageError } from '../../contract/errors';

interface ApproveOptions extends BatchFlags, SignOptions, GrantFlags {
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
    .description('approve a call, as it is or with changes; or many at once')
    .option('-e, --edit', 'change the arguments in your editor (VISUAL, EDITOR)')
    .option('-p, --patch', 'decide the hunks of a file proposal one by one')
    .option('--args <json|@file>', 'run it with these arguments instead')
    .option('--set <path=value>', 'change one argument; may be repeated, each place once', collect)
    .option('--hunks <ids>', 'only these parts of a file proposal, such as 1,3')
    .option('--saw <digest>', SAW_HELP)
    .option('--reason <text>', 'why; the model reads it');
  const yes = 'do not ask: with --all, or for the new preview of changed arguments';
  addBatchOptions(addGrantOptions(addSignOption(command)), yes).action(
    (target: string | undefined, options: ApproveOptions) =>
      options.all === true ? approveAll(target, options, context) : approve(target, options, context),
  );
}

async function approveAll(target: string | undefined, options: ApproveOptions, context: Context) {
  const { edit, patch, args, set, hunks, saw, sign } = options;
  const own = { edit, patch, args, set, hunks, saw, sign, ...grantFlags(options) };
  refuseOptions(own, 'and --all exclude each other', 'Calls are approved together only as they are.');
  await decideBatch(await readBatch(options, 'approved', context.as, target), context);
}

async function approve(target: string | undefined, options: ApproveOptions, context: Context) {
  const { yes = false, edit = false, patch = false, saw, ...rest } = options;
  checkNoBatch(rest);
  const named = namedCall(target);
  checkWays(options);
  const choice = await readChoice(options, context);
  const { screen, keyboard, json } = context;
  await withSubject(named, options, context, async (subject, { client, view, signer, context: at }) => {
    const { call, said } = subject;
    const about = { client, view, callId: call.callId, approver: said.approver, signer, context: at };
    const grant = await planned(options, about);
    const shown = { story: storyOf(view, call), ...(await changedIn(client, view)) };
    const approval = { choice, edit, patch, yes, ...shown, saw };
    const { answer, what } = await approveCall(subject, approval, keyboard);
    reportAnswer(answer, { id: idOf(subject), json, what }, screen);
    if (answer.status !== 'refused') await grant?.give();
  });
}

/** Checks that only one way to change the arguments is used. Only `--set` may be used with `--args`. */
function checkWays(options: ApproveOptions) {
  const { edit, patch, args, set, hunks, yes } = options;
  if ([edit, patch, args, set, hunks].some((one) => one !== undefined)) {
    const hint = 'A grant is for the call as it is asked.';
    refuseOptions(grantFlags(options), 'and a change exclude each other', hint);
  }
  if (yes === true && edit !== true && args === undefined && set === undefined) {
    const hint = 'To approve a call as it is you must have seen it: name its digest with --saw.';
    throw usageError('--yes goes with --all or with changed arguments', hint);
  }
  const ways = { '--edit': edit, '--patch': patch, '--args or --set': args ?? set, '--hunks': hunks };
  const given = Object.keys(defined(ways));
  const alone = given.find((name) => name === '--edit' || name === '--patch');
  if (alone === undefined || given.length < 2) return;
  throw usageError(`${given.join(' and ')} exclude each other`, 'Choose one way to say what may run.');
}

async function readChoice(
  { args, set = [], hunks }: ApproveOptions,
  context: Context,
): Promise<ApprovalChoice> {
  return {
    assignments: parseAssignments(set),
    arguments: args === undefined ? undefined : await readArguments(args, context),
    hunks: hunks === undefined ? undefined : parseHunks(hunks),
  };
}

/** How a call is approved. */
interface Approval {
  choice: ApprovalChoice;
  /** `--saw`: the beginning of the digest that the person looked at. */
  saw?: string;
  /** Whether to change the arguments in the editor. */
  edit: boolean;
  /** Whether to decide hunk by hunk. */
  patch: boolean;
  /** Whether to approve the new preview of changed arguments without a look. */
  yes: boolean;
  /** The words and steps that led to the call. */
  story: Story;
  /** Requests whose tool changed after they were made. */
  changed?: readonly ChangedTool[];
}

/** The turn's answer to the approval, and the approved call. */
interface Approved {
  answer: Answer;
  /** One line: tool and arguments. */
  what: string;
}

/**
 * Approves a call that the person has seen. The person names its digest, was shown the call before on this terminal, or
 * is shown the call now and asked.
 *
 * @throws CountersignError `usage` if nobody can be asked and no digest is named, `refused` for the digest of
 * something else, and the errors of `decide`.
 */
async function approveCall(
  given: Subject,
  approval: Approval,
  keyboard: Context['keyboard'],
): Promise<Approved> {
  const { tool, request, effective } = given.call;
  let args: JsonObject | undefined;
  let hunks: readonly string[] | undefined;
  const decideAndNote: Subject['client']['decide'] = (turn, decision) => {
    args = decision.arguments ?? args;
    hunks = decision.hunks;
    return given.client.decide(turn, decision);
  };
  const { client } = given;
  const subject: Subject = {
    ...given,
    client: {
      answer: client.answer.bind(client),
      decide: decideAndNote,
      resolve: client.resolve.bind(client),
      view: client.view.bind(client),
    },
  };
  const answer = await showAndApprove(subject, approval, keyboard);
  const part = hunks ? `hunks ${hunks.join(', ')} of ` : '';
  const title = args
    ? titleOf({ tool, arguments: args })
    : titleOf({ tool, arguments: request?.arguments ?? effective, preview: request?.preview });
  return { answer, what: part + title };
}

async function showAndApprove(
  subject: Subject,
  approval: Approval,
  keyboard: Context['keyboard'],
): Promise<Answer> {
  const { choice, saw, edit, patch, yes } = approval;
  const chosen = chooseApproval(subject.call, choice);
  // A call that no longer waits is not shown as waiting: the turn says what happened to it.
  if (subject.call.phase !== 'request') return decide(subject, chosen);
  const request = requestOf(subject);
  // Defaults are filled in before anybody is asked, so that nothing runs that was not shown.
  const decision = chosen.arguments
    ? { ...chosen, arguments: withDefaults(request.schema, chosen.arguments) }
    : chosen;
  // We print this even for a person who has seen the request, because the tool may have changed since the person saw
  // the request.
  const { screen } = subject.context;
  for (const line of changedLines(request, { screen, ...approval })) screen.note(line);
  const said = checkSeenDigest(request, { saw, id: idOf(subject), canAsk: patch || canAsk(keyboard) });
  if (!patch && !canAsk(keyboard)) {
    const looking = { terminal: undefined, yes };
    return edit ? decideByEditor(subject, looking) : send(subject, decision, looking);
  }
  const hint = 'Name the hunks with --hunks instead.';
  return withTerminal(keyboard, hint, async (terminal) => {
    const shownLater = decision.arguments !== undefined && asksAgainAfterEdit(request);
    if (shownLater) return send(subject, decision, { terminal, yes });
    const isSeen = said !== undefined || (await wasPrinted(request, subject.context.env));
    if (!isSeen) show(subject, request, approval);
    if (patch) return decideByHunks(subject, terminal);
    if (edit) return decideByEditor(subject, { terminal, yes });
    const sure = isSeen || (await ask(subject, decision, terminal));
    const runs = { ...request, ...defined({ arguments: decision.arguments }) };
    if (!sure || (said === undefined && !(await confirmDeceptiveText(runs, terminal))))
      throw givenUp('you did not confirm');
    return send(subject, decision, { terminal, yes });
  });
}

function show({ turn, call, context: { screen } }: Subject, request: RequestOpened, { story }: Approval) {
  const place = { turn, screen, now: Date.now(), story, calls: [call] };
  screen.lines([...proposalLines(request, place), '']);
}

function ask(
  subject: Subject,
  { arguments: args, hunks }: AnonymousDecision,
  terminal: Terminal,
): Promise<boolean> {
  const { screen } = subject.context;
  const { tool, arguments: before } = requestOf(subject);
  const which = hunks ? ` hunks ${hunks.join(', ')} of` : '';
  if (args === undefined) return confirm(terminal, `Approve${which} ${idOf(subject)} ${tool}?`);
  screen.lines(['what changes:', ...indented(changeLines(before, args, screen.style))]);
  return confirm(terminal, `Approve ${idOf(subject)} ${tool} with these changes?`);
}

function send(subject: Subject, decision: AnonymousDecision, looking: Parameters<typeof decideChanged>[2]) {
  return decision.arguments ? decideChanged(subject, decision.arguments, looking) : decide(subject, decision);
}
