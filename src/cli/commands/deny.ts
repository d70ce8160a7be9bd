import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { reportAnswer } from '../answer';
import { addBatchOptions, type BatchFlags, checkNoBatch, decideBatch, readBatch } from '../batch';
import { decide, idOf, requestOf, type Subject } from '../review/decision';
import { nextRevision, notTaken } from '../review/changed';
import { escapeText } from '../print/escape';
import { type Context, osUser } from '../context';
import { defined } from '../../contract/defined';
import { addPlaceOption, placeFor, type PlaceOption } from '../review/in-place-of';
import { addSignOptions, signerOf, type SignOptions } from '../review/sign';
import { findCall, namedCall, parseTarget } from '../target';
import { nameOption } from '../options';

interface DenyOptions extends BatchFlags, SignOptions, PlaceOption {
  reason: string;
}

/** `deny <turn>/<call>`, and `deny --all`. */
export function addDeny(program: Command, context: Context): void {
  const command = program
    .command('deny [turn/call]')
    .description('deny a call; or many at once')
    .requiredOption('--reason <text>', 'why; the model reads it')
    .addOption(nameOption('who decides'))
    .option('--json', 'print the answer as JSON');
  addBatchOptions(addSignOptions(addPlaceOption(command))).action(
    async (target: string | undefined, options: DenyOptions) =>
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
    .addOption(nameOption('whose vote'))
    .option('--json', 'print the answer as JSON')
    .action((target: string, options: Omit<DenyOptions, 'reason'> & { reason?: string }) =>
      say('withdrawn', target, options, context),
    );
}

/** `ask-again <turn>/<call>`. */
export function addAskAgain(program: Command, context: Context): void {
  program
    .command('ask-again <turn/call>')
    .description("ask again about a waiting call, under today's rules; only an admin may")
    .requiredOption('--reason <text>', 'why; kept on record')
    .addOption(nameOption('who asks for it'))
    .option('--json', 'print the answer as JSON')
    .action((target: string, options: Omit<DenyOptions, keyof SignOptions>) =>
      askAgain(target, options, context),
    );
}

/** Asks again, and waits for the new request. Only a worker can check whether the person may do this. */
async function askAgain(target: string, options: Said, context: Context): Promise<void> {
  const { screen } = context;
  await withSubject(target, options, context, async (subject) => {
    const before = requestOf(subject);
    const id = idOf(subject);
    const answer = await decide(subject, { decision: 'ask-again' });
    if (options.json === true || answer.status !== 'accepted')
      return reportAnswer(answer, { id, json: options.json === true }, screen);
    const { request } = await nextRevision(subject, before);
    if (request?.note !== undefined) throw notTaken(id, request.note);
    const rule = request?.authority?.rule.name;
    screen.line(screen.style.warn(`${escapeText(id)} is asked about anew, and has no votes yet`));
    if (rule !== undefined) screen.line(`It is under the rule '${escapeText(rule)}' now.`);
  });
}

async function deny(target: string | undefined, options: DenyOptions, context: Context): Promise<void> {
  checkNoBatch(options);
  await say('denied', namedCall(target), options, context);
}

type Said = Pick<DenyOptions, 'as' | 'json' | keyof SignOptions | keyof PlaceOption> & { reason?: string };

async function say(
  decision: 'denied' | 'withdrawn',
  target: string,
  options: Said,
  context: Context,
): Promise<void> {
  await withSubject(target, options, context, async ({ said, ...subject }, client) => {
    const { screen } = context;
    const asking = { client, call: subject.call, approver: said.approver, screen };
    // A person withdraws their own vote, also a vote that they cast in another person's place.
    const place = decision === 'denied' ? await placeFor(options, asking) : {};
    const answer = await decide({ ...subject, said: { ...said, ...place } }, { decision });
    reportAnswer(answer, { id: idOf(subject), json: options.json === true }, screen);
  });
}

async function withSubject(
  target: string,
  options: Said,
  context: Context,
  act: (subject: Subject, client: Countersign) => Promise<void>,
): Promise<void> {
  const named = parseTarget(target);
  namedCall(named.call);
  const { reason, as } = options;
  await context.withClient(async (client) => {
    const turn = await client.find(named.turn);
    const view = await client.view(turn);
    const name = as ?? osUser();
    const { approver = name, sign } = (await signerOf(options, name, { client, context })) ?? {};
    const said = { approver, ...defined({ reason }) };
    const subject = { client, turn, said, context, ...defined({ sign }), agent: view.agent };
    await act({ ...subject, call: findCall(view, named.call) }, client);
  });
}
