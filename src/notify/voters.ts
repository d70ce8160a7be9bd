import type { Approvers } from '../authority/rules/approvers-file';
import type { Countersign } from '../client';
import { votersOf } from '../authority/votes/voters';
import { newVotersOf } from '../authority/votes/open-votes';
import { isSeenBy } from '../authority/rules/permits';
import { CountersignError } from '../contract/errors';
import { authorityOn } from '../history/labels';
import type { CallView, TurnView } from '../history/view';
import type { Notice } from './notices';

/** Everything that is needed to find the addresses of voters. */
interface VoterSources {
  /** Returns today's approvers file. */
  approvers(): Promise<Approvers>;
  client: Pick<Countersign, 'view'>;
  /** The person who gets a test message, by their name in the approvers file. */
  tester?: string;
  /** Which address of a person is used. @default 'mail' */
  by?: 'mail' | 'slack';
}

/**
 * The addresses of the people who may decide the call of a notice, by today's approvers file. If no rule says who
 * decides, these are all people in the file. A person whom the file does not let see the turn gets no notice.
 *
 * @throws CountersignError `failed` if none of these people has an address.
 */
export async function votersOn(notice: Notice, sources: VoterSources): Promise<readonly string[]> {
  const { tester, by = 'mail' } = sources;
  const { file, names } = await decidersOf(notice, sources);
  const addresses = file.people.flatMap(({ name, mail }) => {
    const address = by === 'slack' ? file.slackOf(name) : mail;
    return names.includes(name) && address !== undefined ? [address] : [];
  });
  if (addresses.length > 0) return [...new Set(addresses)];
  const who = notice.type === 'test' ? (tester ?? '') : 'nobody who may decide this';
  const has = notice.type === 'test' ? 'has no' : 'has a';
  const what = by === 'slack' ? 'Slack id' : 'mail address';
  throw new CountersignError('failed', `${who} ${has} ${what} in ${file.file}`);
}

/**
 * The people who may decide the call of a notice and may see it, by their names in today's file. For a test: the person
 * who gets the test. Also returns the call, if the turn has the call.
 *
 * @throws CountersignError `failed` if the file does not have the person who gets a test.
 */
export async function decidersOf(
  notice: Notice,
  { approvers, client, tester }: Omit<VoterSources, 'by'>,
): Promise<{ file: Approvers; names: readonly string[]; call?: CallView }> {
  const { turn, callId } = notice.data;
  const file = await approvers();
  if (notice.type === 'test') return { file, names: testers(file, tester) };
  const call = (await client.view(turn)).calls.find((one) => one.callId === callId);
  const found = { all: file.people.map(({ name }) => name), now: Date.now() };
  const names = votersFor(notice, call, found).filter((name) => sees(file, name, notice.data));
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
 * The people who get a notice because they may vote now, by name. The notice of a new request does not go to people who
 * may vote only since an escalation, and the notice of an escalation goes only to them. If no rule is frozen with the
 * call, or the rule lists nobody, everybody gets the notice. `now`: milliseconds since 1970.
 */
export function votersFor(
  { type }: Pick<Notice, 'type'>,
  call: CallView | undefined,
  { all, now }: { all: readonly string[]; now: number },
): readonly string[] {
  const frozen = call?.request?.authority;
  if (frozen === undefined) return all;
  if (type === 'request.escalated') return newVotersOf(frozen, now);
  const authority = type === 'request.opened' ? frozen : call && authorityOn(call);
  return votersOf(authority ?? frozen, now) ?? all;
}

function testers(file: Approvers, tester: string | undefined): string[] {
  const name = tester === undefined ? undefined : file.personOf(tester);
  if (name !== undefined) return [name];
  throw new CountersignError('failed', `${tester ?? 'you'} is not in ${file.file}; name somebody with --as`);
}
