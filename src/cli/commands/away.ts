import type { Command } from 'commander';
import type { Away, Countersign } from '../../client';
import { defined } from '../../contract/defined';
import { CountersignError } from '../../contract/errors';
import { dateTime } from '../../contract/text/times';
import { isSameName } from '../../contract/authority/votes';
import { isOpenAt } from '../../contract/control/away';
import { type Context, osUser } from '../context';
import { nameOption, readTime, usageError } from '../options';
import { escapeText } from '../print/escape';
import { beside } from '../print/screen';
import { tableLines } from '../print/table';
import { addSignOptions, signerOf, type SignOptions } from '../review/sign';

interface AwayOptions extends SignOptions {
  to?: string;
  from?: string;
  until?: string;
  reason?: string;
  as?: string;
  json?: boolean;
}

/** `away`. */
export function addAway(program: Command, context: Context): void {
  const command = program
    .command('away')
    .description('list who is away; with --to and --until: say that you are, and who votes in your place')
    .option('--to <person>', 'who votes in your place, by their name in the approvers file')
    .option('--until <time>', 'when it ends: a time such as 2026-12-24T08:00, or 3d from its start')
    .option('--from <time>', 'when it starts: a time, or 3d from now (default: now)')
    .option('--reason <text>', 'why; everybody who looks reads it')
    .addOption(nameOption('who is away'))
    .option('--json', 'print JSON');
  addSignOptions(command).action((options: AwayOptions) => {
    const { to, until, ...others } = options;
    if (to !== undefined && until !== undefined) return goAway({ ...others, to, until }, context);
    const { json: _, approvers: __, ...said } = others;
    if (Object.keys(defined({ to, until, ...said })).length > 0)
      throw usageError('say who votes in your place and until when: --to <person> --until <time>');
    return list(options, context);
  });
}

/** `back`. */
export function addBack(program: Command, context: Context): void {
  program
    .command('back [person]')
    .description('end an out-of-office: whoever voted in your place does no more')
    .addOption(nameOption('who ends it'))
    .option('--json', 'print JSON')
    .action((person: string | undefined, options: Pick<AwayOptions, 'as' | 'json'>) =>
      comeBack(person, options, context),
    );
}

async function goAway(options: AwayOptions & { to: string; until: string }, context: Context): Promise<void> {
  const { reason, as = osUser(), json = false } = options;
  const { screen, command } = context;
  await context.withClient(async (client) => {
    const at = { ...context, screen: json ? beside(screen) : screen };
    const signer = await signerOf(options, as, { client, context: at });
    const now = Date.now();
    const start = options.from === undefined ? now : momentOf(options.from, '--from', now);
    const end = momentOf(options.until, '--until', start);
    // Loaded here, because this module loads Temporal's client. No other command has to wait for that.
    const { awayTerms } = await import('../../client/control/away.js');
    const from = signer?.approver ?? as;
    const terms = awayTerms({ from, to: signer?.nameOf(options.to) ?? options.to }, { start, end });
    const signature = await signer?.signAway(terms, client.namespace);
    const entry = await client.away.put({ ...terms, ...defined({ reason, signature }) });
    if (json) return screen.json(entry);
    const when = isOpenAt(entry, Date.now()) ? '' : ` from ${dateTime(entry.start)}`;
    screen.line(
      escapeText(
        `${entry.from} is away${when} until ${dateTime(entry.end)}; ${entry.to} votes in their place`,
      ),
    );
    if (signature === undefined)
      screen.line('It is not signed: it counts only where a rule takes a claim. Sign it with --sign.');
    screen.line(`End it: ${command('back')}`);
  });
}

/** The moment that a value names. A day stands for its beginning, in UTC. */
function momentOf(value: string, option: string, from: number): number {
  const at = /^\d{4}-\d{2}-\d{2}/.test(value) ? Date.parse(value) : from + readTime(value, option, 1);
  if (Number.isNaN(at)) throw usageError(`${option}: ${value} is not a time`);
  return at;
}

async function list({ json }: AwayOptions, { withClient, screen }: Context): Promise<void> {
  await withClient(async (client) => {
    const found = await client.away.list();
    if (json === true) return screen.json(found);
    if (found.entries.length === 0) return screen.line('Nobody is away.');
    const rows = found.entries.map((entry) => rowOf(entry).map((text) => escapeText(text)));
    screen.lines(
      tableLines({ head: ['who', 'votes for them', 'from', 'until', 'proof', 'why'], rows, flex: 5 }, screen),
    );
  });
}

function rowOf({ from, to, start, end, signature, reason = '' }: Away): string[] {
  return [
    from,
    to,
    dateTime(start),
    dateTime(end),
    signature === undefined ? 'unsigned' : signature.kind,
    reason,
  ];
}

async function comeBack(
  person: string | undefined,
  { as: by = osUser(), json }: Pick<AwayOptions, 'as' | 'json'>,
  { withClient, screen }: Context,
): Promise<void> {
  await withClient(async (client) => {
    const entry = await entryOf(client, person ?? by);
    const ended = await client.away.end({ id: entry.id, by });
    if (json === true) return screen.json(ended);
    screen.line(escapeText(`${ended.from} is back; ${ended.to} no more votes in their place`));
  });
}

/** The out-of-office entry of a person. If the person has several, the entry that begins first. */
async function entryOf({ away }: Countersign, person: string): Promise<Away> {
  const all = (await away.list()).entries.filter(
    ({ from, end }) => isSameName(from, person) && Date.parse(end) > Date.now(),
  );
  const [first] = all.sort((one, other) => one.start.localeCompare(other.start));
  if (first !== undefined) return first;
  throw new CountersignError('away_not_found', `${person} is not away`, {
    hint: 'countersign away shows who is',
  });
}
