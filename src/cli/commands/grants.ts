import type { Command } from 'commander';
import type { Countersign, GrantSeen } from '../../client';
import { termsDigest } from '../../authority/grants/confirmations';
import { votesOn } from '../../authority/grants/grant-votes';
import { argumentTexts, grantSentence, heldSentence } from '../../authority/grants/grant-text';
import type { VoteSignature } from '../../contract/decision';
import { defined } from '../../contract/defined';
import { noGrantText } from '../../authority/grants/grant';
import { CountersignError, usageError } from '../../contract/errors';
import { SAW_DIGITS } from '../../contract/digest';
import { relative } from '../../contract/text/times';
import type { Context } from '../context';
import { refuseOptions } from '../flags';
import { escapeText } from '../../contract/text/escape';
import { beside } from '../print/screen';
import { indented } from '../print/table';
import { givenUp } from '../review/decision';
import { checkSaw, SAW_HELP } from '../review/seen';
import { addSignOption, signerOf, type SignOptions } from '../review/sign';
import { confirm } from '../review/confirm';
import { canAsk, withTerminal } from '../review/terminal';

interface GrantOptions extends SignOptions {
  confirm?: boolean;
  revoke?: boolean;
  all?: boolean;
  reason?: string;
  saw?: string;
}

/** `grants [grant]`. */
export function addGrants(program: Command, context: Context): void {
  const command = program
    .command('grants [grant]')
    .description('list the grants, which let calls run without asking again, or show, confirm or revoke one')
    .option('--confirm', 'confirm a grant that another person gave, if its rule needs several people')
    .option('--saw <digest>', `with --confirm: ${SAW_HELP}`)
    .option('--revoke', 'take back a grant: a call that has not started by it asks a person')
    .option('--all', 'with --revoke: all grants that were given so far')
    .option('--reason <text>', 'with --revoke: why; kept on record');
  addSignOption(command).action((id: string | undefined, options: GrantOptions) =>
    actOn(id, options, context),
  );
}

async function actOn(id: string | undefined, options: GrantOptions, context: Context) {
  if (options.confirm === true && options.revoke === true)
    throw usageError('--confirm and --revoke exclude each other');
  const { all, reason, saw, sign } = options;
  if (options.confirm !== true) refuseOptions({ saw, sign }, 'goes with --confirm');
  if (options.revoke !== true) refuseOptions({ all, reason }, 'goes with --revoke');
  if (options.revoke === true) return revoke(id, options, context);
  if (options.confirm !== true) return id === undefined ? list(context) : show(id, context);
  if (id === undefined) throw usageError('name the grant to confirm');
  return confirmGrant(id, options, context);
}

async function list({ withClient, screen, json }: Context) {
  await withClient(async (client) => {
    const found = await client.grants.list();
    if (json) return screen.json(found);
    if (found.grants.length === 0) screen.line('There are no grants.');
    for (const grant of found.grants) screen.line(lineOf(grant, Date.now()));
  });
}

function lineOf(grant: GrantSeen, now: number) {
  const { id, agent, tool, used, times, until } = grant;
  const what = `${id.slice(0, 8)}  ${agent}  ${tool}  ${used} of ${times} used, ends ${relative(until, now)}`;
  const waits = heldSentence(grant, now) === undefined ? '' : '  waits to be confirmed';
  const who = votesOn(grant).map(({ voter }) => voter);
  return escapeText(`${what}  by ${who.join(' and ')}${waits}`);
}

async function show(prefix: string, { withClient, screen, json }: Context) {
  await withClient(async (client) => {
    const grant = await findGrant(client, prefix);
    if (json) return screen.json(grant);
    const { at, used, times, reason } = grant;
    const [given, ...others] = votesOn(grant);
    const held = heldSentence(grant, Date.now());
    const digits = termsDigest(grant).slice(0, SAW_DIGITS);
    const facts = [
      `given by ${grant.by} at ${at}, ${proofText(given?.signature)}`,
      ...others.map((vote) => `confirmed by ${vote.voter} at ${vote.at}, ${proofText(vote.signature)}`),
      ...(held === undefined ? [] : [held, `to confirm it: --saw ${digits}`]),
      `${used} of ${times} uses claimed`,
    ];
    const why = reason === undefined ? [] : [`reason: ${reason}`];
    screen.lines([
      grant.id,
      ...indented(sentenceLines(grant)),
      ...indented([...facts, ...why].map((line) => escapeText(line))),
    ]);
  });
}

/** What a grant allows, with every argument: whoever looks at a grant does not see the call. */
function sentenceLines(grant: GrantSeen): string[] {
  const each = argumentTexts(grant).map((text) => escapeText(text));
  return [escapeText(grantSentence(grant)), ...indented(each)];
}

function proofText(signature: VoteSignature | undefined) {
  return signature ? `signed (${signature.kind})` : 'unsigned';
}

/**
 * Confirms a grant that the person has seen. The person names the digest of the grant, or is shown the grant and asked.
 */
async function confirmGrant(prefix: string, options: GrantOptions, context: Context) {
  const { saw } = options;
  const { screen, keyboard, json, as } = context;
  await context.withClient(async (client) => {
    const grant = await findGrant(client, prefix);
    // Loaded here, because this module loads Temporal's client. No other command has to wait for that.
    const { planConfirmation, requireAssured } = await import('../../authority/grants/client-plan.js');
    const at = { ...context, screen: json ? beside(screen) : screen };
    const signer = await signerOf(options, as, { client, context: at });
    const plan = planConfirmation(grant, signer?.approver ?? as);
    requireAssured(plan, signer ? 'signed_ssh' : 'claimed');
    const look = `countersign grants ${grant.id.slice(0, 8)}`;
    const seen = checkSaw(plan.asked.seenDigest, { saw, what: grant.id, look, canAsk: canAsk(keyboard) });
    if (seen === 'other')
      throw new CountersignError(
        'refused',
        `${grant.id} is not what you saw: --saw ${saw} does not fit`,
        `Look at it again with \`${look}\`.`,
      );
    for (const line of [...sentenceLines(grant), escapeText(`given by ${grant.by}`)]) at.screen.note(line);
    const hint = 'Confirm it with --saw where nobody can be asked.';
    const ask = () => withTerminal(keyboard, hint, (terminal) => confirm(terminal, 'Allow this?'));
    if (seen === undefined && !(await ask())) throw givenUp('you did not confirm the grant');
    const signature = await signer?.signGrant(grant, client.namespace, plan.asked);
    const confirmed = await client.grants.confirm({ ...plan.asked, ...defined({ signature }) });
    if (json) return screen.json(confirmed);
    screen.line(escapeText(`Confirmed ${grant.id}. ${heldSentence(confirmed, Date.now()) ?? 'It holds.'}`));
  });
}

async function revoke(
  prefix: string | undefined,
  { all = false, reason }: GrantOptions,
  { withClient, screen, json, as: by }: Context,
) {
  if (all === (prefix !== undefined)) throw usageError('name one grant, or --all');
  await withClient(async (client) => {
    const id = prefix === undefined ? undefined : (await findGrant(client, prefix)).id;
    const revoked = await client.grants.revoke({ by, id, reason });
    if (json) return screen.json(revoked);
    const { ended, recorded } = revoked;
    for (const one of ended) screen.line(`Revoked ${one.id} of ${escapeText(one.by)}`);
    if (recorded === true)
      screen.note('No worker answered. It is recorded, and takes effect once a worker runs.');
  });
}

async function findGrant({ grants }: Countersign, prefix: string): Promise<GrantSeen> {
  const all = (await grants.list()).grants.filter(({ id }) => id.startsWith(prefix));
  const [found, other] = all;
  if (found && other === undefined) return found;
  const hint = 'countersign grants shows what there is';
  if (found === undefined) throw new CountersignError('not_found', noGrantText(prefix), hint);
  throw new CountersignError('usage', `${prefix} is the beginning of ${all.length} grants`, hint);
}
