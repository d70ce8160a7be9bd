import type { Approvers } from '../../authority/approvers';
import type { Countersign } from '../../client';
import { votersOf, votingOf } from '../../contract/authority/authority';
import { newVotersOf } from '../../contract/authority/open-votes';
import { barredUnder, type StandIn, standInsAt } from '../../contract/authority/in-place-of';
import { isSeenBy } from '../../contract/authority/permits';
import { CountersignError } from '../../contract/errors';
import { authorityOn } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';
import type { Notice, NoticeType } from './notices';
import type { AwayEntries } from '../../client/control/who-is-away';

/** Everything that is needed to find the addresses of voters. */
export interface VoterSources {
  /** Returns today's approvers file. */
  approvers(): Promise<Approvers>;
  client: Pick<Countersign, 'view'>;
  /** The out-of-office entries, so that delegates are notified too. Absent: delegates are not notified. */
  away?: AwayEntries;
  /** The person who gets a test message, by their name in the approvers file. */
  tester?: string;
  /** Which address of a person is used. @default 'mail' */
  by?: 'mail' | 'slack';
}

/**
 * The addresses of the people who may decide the call of a notice, by today's approvers file. If no rule says who
 * decides, these are all people in the file. A person whom the file does not let see the turn gets no notice.
 *
 * @throws CountersignError `notify_failed` if none of these people has an address.
 */
export async function votersOn(notice: Notice, sources: VoterSources): Promise<readonly string[]> {
  const { tester, by = 'mail' } = sources;
  const { file, names } = await decidersOf(notice, sources);
  const addresses = file.people.flatMap(({ name, mail }) => {
    const address = by === 'slack' ? file.slackOf(name) : mail;
    return names.includes(name) && address !== undefined ? [address] : [];
  });
  // A delegate may have no address, and the person whom they stand in for was notified before.
  if (addresses.length > 0 || notice.type === 'request.delegated') return [...new Set(addresses)];
  const who = notice.type === 'test' ? (tester ?? '') : 'nobody who may decide this';
  const has = notice.type === 'test' ? 'has no' : 'has a';
  const what = by === 'slack' ? 'Slack id' : 'mail address';
  throw new CountersignError('notify_failed', `${who} ${has} ${what} in ${file.file}`);
}

/**
 * The people who may decide the call of a notice and may see it, by their names in today's file. For a test: the person
 * who gets the test. Also returns the call, if the turn has the call.
 *
 * @throws CountersignError `notify_failed` if the file does not have the person who gets a test.
 */
export async function decidersOf(
  notice: Notice,
  { approvers, client, away, tester }: Omit<VoterSources, 'by'>,
): Promise<{ file: Approvers; names: readonly string[]; call?: CallView | undefined }> {
  const { turn, callId } = notice.data;
  const file = await approvers();
  if (notice.type === 'test') return { file, names: testers(file, tester) };
  const call = (await client.view(turn)).calls.find((one) => one.callId === callId);
  const standIns = standInsAt((await away?.()) ?? [], Date.now(), (name) => file.personOf(name));
  const everybody = file.people.map(({ name }) => name);
  const all = new Set([...votersFor(notice, call, everybody), ...deputiesFor(notice, call, standIns)]);
  const frozen = call?.request?.authority;
  const isBarred = frozen === undefined ? () => false : barredUnder(frozen, standIns);
  const names = [...all].filter((name) => !isBarred(name) && sees(file, name, notice.data));
  return { file, names, call };
}

/** Whether the file lets a person see a turn. */
export function sees(
  file: Approvers,
  person: string,
  { agent, lineage = [] }: Pick<TurnView, 'agent' | 'lineage'>,
): boolean {
  return isSeenBy(file.permitOf(person), { agent, callers: lineage.map((one) => one.agent) });
}

/**
 * The voters who get a notice, by name. The notice of a new request goes to the people who could vote when it opened.
 * The notice of an escalation goes to the people who may vote only since the escalation. If no rule is frozen with the
 * call, or the rule lists nobody, everybody gets the notice.
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
 * The delegates who get a notice. For a new request or an escalation: the people who were already standing in when the
 * call began to wait. For an out-of-office that began later: its delegate. For any other notice: everybody who stands
 * in now.
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
