import type { Approvers } from '../../authority/approvers';
import type { Countersign } from '../../client';
import { votersOf, votingOf } from '../../contract/authority/authority';
import { newVotersOf } from '../../contract/authority/open-votes';
import { barredUnder, type StandIn, standInsAt } from '../../contract/authority/places';
import { isSeenBy } from '../../contract/authority/permits';
import { CountersignError } from '../../contract/errors';
import { authorityOn } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';
import type { Notice, NoticeType } from './notices';
import type { AwayEntries } from '../../client/control/who-is-away';

/** Where the addresses are looked for. */
export interface VoterSources {
  /** The file as it is now. */
  approvers(): Promise<Approvers>;
  client: Pick<Countersign, 'view'>;
  /** Who is away. Absent: nobody is asked. */
  away?: AwayEntries;
  /** Who gets a test; a person of the file. */
  tester?: string;
  /** What of a person they are reached by. @default 'mail' */
  by?: 'mail' | 'slack';
}

/**
 * The addresses of those who may decide what a notice is about, by today's file: everybody of it where no rule says who.
 * Nobody is sent what the file does not let them see.
 *
 * @throws CountersignError `notify_failed` where nobody of them has an address.
 */
export async function votersOn(notice: Notice, sources: VoterSources): Promise<readonly string[]> {
  const { tester, by = 'mail' } = sources;
  const { file, names } = await decidersOf(notice, sources);
  const addresses = file.people.flatMap(({ name, mail }) => {
    const address = by === 'slack' ? file.slackOf(name) : mail;
    return names.includes(name) && address !== undefined ? [address] : [];
  });
  // Who stands in may have none, and whoever they stand in for was notified before.
  if (addresses.length > 0 || notice.type === 'request.delegated') return [...new Set(addresses)];
  const who = notice.type === 'test' ? (tester ?? '') : 'nobody who may decide this';
  const has = notice.type === 'test' ? 'has no' : 'has a';
  const what = by === 'slack' ? 'Slack id' : 'mail address';
  throw new CountersignError('notify_failed', `${who} ${has} ${what} in ${file.file}`);
}

/**
 * Those who may decide what a notice is about and see it, by their names in today's file; of a test, who gets it.
 *
 * @throws CountersignError `notify_failed` where the file does not have who gets a test.
 */
export async function decidersOf(
  notice: Notice,
  { approvers, client, away, tester }: Omit<VoterSources, 'by'>,
): Promise<{ file: Approvers; names: readonly string[] }> {
  const { turn, callId } = notice.data;
  const file = await approvers();
  if (notice.type === 'test') return { file, names: testers(file, tester) };
  const call = (await client.view(turn)).calls.find((one) => one.callId === callId);
  const standIns = standInsAt((await away?.()) ?? [], Date.now(), (name) => file.personOf(name));
  const everybody = file.people.map(({ name }) => name);
  const all = new Set([...votersFor(notice, call, everybody), ...deputiesFor(notice, call, standIns)]);
  const frozen = call?.request?.authority;
  const isBarred = frozen === undefined ? () => false : barredUnder(frozen, standIns);
  return { file, names: [...all].filter((name) => !isBarred(name) && sees(file, name, notice.data)) };
}

/** Whether the file lets a person see what is of a turn. */
export function sees(
  file: Approvers,
  person: string,
  { agent, lineage = [] }: Pick<TurnView, 'agent' | 'lineage'>,
): boolean {
  return isSeenBy(file.permitOf(person), { agent, callers: lineage.map((one) => one.agent) });
}

/**
 * Whom a notice goes to, by name. What opened goes to those who could vote then, and an escalation to those who may only
 * since. A rule that is not frozen with the call, or that lists nobody, lets everybody.
 */
export function votersFor(
  { type }: Pick<Notice, 'type'>,
  call: CallView | undefined,
  all: readonly string[],
): readonly string[] {
  const frozen = call?.request?.authority;
  if (frozen === undefined) return all;
  if (type === 'request.delegated') return [];
  if (type === 'request.escalated') return newVotersOf(frozen);
  const now = type === 'request.opened' ? frozen : call && authorityOn(call);
  return votersOf(now ?? frozen) ?? all;
}

/**
 * Who may decide in the place of somebody who is away, and is to know: of what opened or went on to others, who stood in when
 * it began to wait; of an out-of-office that began later, its delegate; of anything else, whoever stands in now.
 */
export function deputiesFor(
  notice: Pick<Notice, 'type' | 'data'>,
  call: CallView | undefined,
  standIns: readonly StandIn[],
): string[] {
  const frozen = call?.request?.authority;
  if (frozen === undefined) return [];
  const { type, data } = notice;
  const authority = (type === 'request.opened' ? frozen : call && authorityOn(call)) ?? frozen;
  const isAbout = BY_TYPE[type] ?? (() => true);
  const among = type === 'request.escalated' ? newVotersOf(frozen) : undefined;
  return standIns.flatMap((one) => {
    const { voter, person } = one;
    const isAsked = isAbout(one, data) && (among === undefined || among.includes(person));
    return isAsked && votingOf({ ...authority, standIns }, voter, one).ok ? [voter] : [];
  });
}

type IsAbout = (standIn: StandIn, data: Notice['data']) => boolean;

const stoodIn: IsAbout = ({ since }, data) => since <= Date.parse(data.since);
const BY_TYPE: Partial<Record<NoticeType, IsAbout>> = {
  'request.opened': stoodIn,
  'request.escalated': stoodIn,
  'request.delegated': ({ entry }, { delegated }) => entry === delegated?.entry,
};

function testers(file: Approvers, tester: string | undefined): string[] {
  const name = tester === undefined ? undefined : file.personOf(tester);
  if (name !== undefined) return [name];
  throw new CountersignError(
    'notify_failed',
    `${tester ?? 'you'} is not in ${file.file}; name somebody with --to`,
  );
}
