import type { Command } from 'commander';
import type { Countersign, GrantSeen } from '../../client';
import { grantSentence } from '../../contract/control/grants';
import { defined } from '../../contract/defined';
import { CountersignError } from '../../contract/errors';
import { relative } from '../../contract/text/times';
import { type Context, osUser } from '../context';
import { usageError } from '../options';
import { escapeText } from '../print/escape';
import { indented } from '../print/table';

interface ListOptions {
  json?: boolean;
}

interface RevokeOptions extends ListOptions {
  all?: boolean;
  reason?: string;
  as?: string;
}

/** `grants`. */
export function addGrants(program: Command, context: Context): void {
  const command = program
    .command('grants')
    .description('calls that may run without asking again; `approve --for` and `--times` give a grant');
  command
    .command('list', { isDefault: true })
    .description('list the grants that there are, with how many uses of each are claimed')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(options, context));
  command
    .command('show <grant>')
    .description('show one grant')
    .option('--json', 'print JSON')
    .action((id: string, options: ListOptions) => show(id, options, context));
  command
    .command('revoke [grant]')
    .description('take back a grant: a call that has not started by it asks a person')
    .option('--all', 'all grants that were given so far')
    .option('--reason <text>', 'why; kept on record')
    .option('--as <name>', 'who does it (default: your name on this machine)')
    .option('--json', 'print JSON')
    .action((id: string | undefined, options: RevokeOptions) => revoke(id, options, context));
}

async function list({ json }: ListOptions, { withClient, screen }: Context): Promise<void> {
  await withClient(async (client) => {
    const found = await client.grants.list();
    if (json === true) return screen.json(found);
    if (found.grants.length === 0) screen.line('There are no grants.');
    for (const grant of found.grants) screen.line(lineOf(grant, Date.now()));
  });
}

function lineOf({ id, agent, tool, by, used, times, until }: GrantSeen, now: number): string {
  const what = `${id.slice(0, 8)}  ${agent}  ${tool}  ${used} of ${times} used, ends ${relative(until, now)}`;
  return escapeText(`${what}  by ${by}`);
}

async function show(prefix: string, { json }: ListOptions, { withClient, screen }: Context): Promise<void> {
  await withClient(async (client) => {
    const grant = await findGrant(client, prefix);
    if (json === true) return screen.json(grant);
    const { by, at, used, times, reason, signature } = grant;
    const how = signature === undefined ? 'unsigned' : `signed (${signature.kind})`;
    const facts = [`given by ${by} at ${at}, ${how}`, `${used} of ${times} uses claimed`];
    const why = reason === undefined ? [] : [`reason: ${reason}`];
    screen.lines([
      grant.id,
      ...indented([grantSentence(grant), ...facts, ...why].map((line) => escapeText(line))),
    ]);
  });
}

async function revoke(
  prefix: string | undefined,
  { all = false, reason, as: by = osUser(), json }: RevokeOptions,
  { withClient, screen }: Context,
): Promise<void> {
  if (all === (prefix !== undefined)) throw usageError('name one grant, or --all');
  await withClient(async (client) => {
    const id = prefix === undefined ? undefined : (await findGrant(client, prefix)).id;
    const revoked = await client.grants.revoke({ by, ...defined({ id, reason }) });
    if (json === true) return screen.json(revoked);
    const { ended, floor } = revoked;
    for (const one of ended) screen.line(`Revoked ${one.id} of ${escapeText(one.by)}`);
    if (floor !== undefined) screen.line(`All grants given before ${floor} are void.`);
  });
}

async function findGrant({ grants }: Countersign, prefix: string): Promise<GrantSeen> {
  const all = (await grants.list()).grants.filter(({ id }) => id.startsWith(prefix));
  const [found, other] = all;
  if (found !== undefined && other === undefined) return found;
  const hint = 'countersign grants list shows what there is';
  if (found === undefined)
    throw new CountersignError('grant_not_found', `there is no grant ${prefix}`, { hint });
  throw new CountersignError('ambiguous_id', `${prefix} is the beginning of ${all.length} grants`, { hint });
}
