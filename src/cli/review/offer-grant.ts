import type { Command } from 'commander';
import type { Countersign } from '../../client';
import type { Condition } from '../../authority/grants/narrowing';
import { reasonIssue } from '../../authority/grants/grant';
import { defined } from '../../contract/defined';
import type { TurnView } from '../../history/view';
import type { Context } from '../context';
import { collect, readCount, readTime } from '../flags';
import { escapeText } from '../../contract/text/escape';
import type { Signer } from './sign';
import { givenUp } from './decision';
import { confirm } from './confirm';
import { canAsk, withTerminal } from './terminal';
import { usageError } from '../../contract/errors';

/** Options of `approve` that give a grant in addition to the decision. */
export interface GrantFlags {
  for?: string;
  times?: string;
  prefix?: string[];
  range?: string[];
  glob?: string[];
}

/** Adds these options to a command. */
export function addGrantOptions(command: Command): Command {
  return command
    .option('--for <time>', 'and allow similar calls for this time, such as 30m; at most 30 days')
    .option('--times <count>', 'and allow this many similar calls, within a day or the time of --for')
    .option(
      '--prefix <name=text>',
      'similar calls are those in which this argument begins with this text; repeatable',
      collect,
    )
    .option(
      '--range <name=a..b>',
      'similar calls are those in which this number is in this range; repeatable',
      collect,
    )
    .option(
      '--glob <name=like>',
      'similar calls are those in which this argument fits a pattern such as src/**; repeatable',
      collect,
    );
}

/** The options that were given. */
export function grantFlags({ for: time, times, prefix, range, glob }: GrantFlags): GrantFlags {
  return defined({ for: time, times, prefix, range, glob });
}

/** The call from which a grant is made, and the person who gives the grant. */
interface Place {
  client: Countersign;
  view: TurnView;
  callId: string;
  approver: string;
  signer: Signer | undefined;
  context: Context;
}

/**
 * The grant that the options ask for. The grant is shown first and, if somebody can be asked, confirmed. Undefined: the
 * options ask for no grant.
 *
 * @throws CountersignError `usage`, `refused`, `failed`.
 */
export async function planned(
  options: GrantFlags & { reason?: string },
  { client, view, callId, approver, signer, context }: Place,
): Promise<{ give(): Promise<void> } | undefined> {
  const { for: time, times, reason } = options;
  const given = grantFlags(options);
  if (Object.keys(given).length === 0) return undefined;
  if (time === undefined && times === undefined)
    throw usageError(`--${Object.keys(given)[0]} needs --for or --times`);
  // The decision may have a longer reason. Without this check, the call would be approved, and then the grant refused.
  const wrong = reasonIssue(reason);
  if (wrong !== undefined) throw usageError(`--reason: with a grant, ${wrong}`);
  // Loaded here, because this module loads Temporal's client. No other command has to wait for that.
  const { coverageText, requireAssured } = await import('../../authority/grants/client-plan.js');
  const plan = await client.grants.plan(view.turn, callId, {
    by: approver,
    narrowing: conditionsOf(options),
    forMs: time === undefined ? undefined : readTime(time, '--for'),
    times: times === undefined ? undefined : readCount(times, '--times'),
  });
  requireAssured(plan, signer ? 'signed_ssh' : 'claimed');
  const { screen, keyboard } = context;
  screen.note(escapeText(plan.sentence));
  if (plan.held !== undefined) screen.note(escapeText(plan.held));
  screen.note(escapeText(coverageText(await client.grants.coverage(plan.terms))));
  if (canAsk(keyboard)) {
    const isSure = await withTerminal(keyboard, 'Give it with --saw where nobody can be asked.', (terminal) =>
      confirm(terminal, 'Allow this, if the call is approved?'),
    );
    if (!isSure) throw givenUp('you did not confirm the grant');
  }
  return {
    give: async () => {
      const signature = await signer?.signGrant(plan.terms, client.namespace);
      const { authority, held, terms } = plan;
      const { id } = await client.grants.give({ ...terms, reason, signature, authority });
      const short = id.slice(0, 8);
      const waits = ` and waits for others: ${context.command(`grants ${short} --confirm`)}.`;
      const now = held === undefined ? ' holds.' : waits;
      screen.note(`Grant ${id}${now} Take it back: ${context.command(`grants ${short} --revoke`)}`);
    },
  };
}

function conditionsOf({ prefix = [], range = [], glob = [] }: GrantFlags): Record<string, Condition> {
  const all = [
    ...prefix.map((text) => assigned(text, (value): Condition => ({ is: 'prefix', prefix: value }))),
    ...range.map((text) => assigned(text, rangeOf)),
    ...glob.map((text) => assigned(text, (value): Condition => ({ is: 'glob', glob: value }))),
  ];
  const names = all.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw usageError(`${twice} is narrowed twice`);
  return Object.fromEntries(all);
}

function assigned(text: string, toCondition: (value: string) => Condition): [string, Condition] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`${text} names no argument`, 'Write name=value.');
  return [text.slice(0, at), toCondition(text.slice(at + 1))];
}

function rangeOf(text: string): Condition {
  const [from = '', to = '', ...rest] = text.split('..');
  const [min, max] = [from, to].map((one) => (one === '' ? undefined : Number(one)));
  const isRange = text.includes('..') && rest.length === 0 && [min, max].every((one) => !Number.isNaN(one));
  if (!isRange) throw usageError(`${text} is not a range`, 'Write 0..100, ..100 or 1..');
  return { is: 'range', min, max };
}
