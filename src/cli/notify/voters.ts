import type { Approvers } from '../../authority/approvers';
import type { Countersign } from '../../client';
import { newVotersOf, votersOf } from '../../contract/authority/open-votes';
import { isSeenBy } from '../../contract/authority/permits';
import { CountersignError } from '../../contract/errors';
import { authorityOn } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';
import type { Notice } from './notices';

/** Where the addresses are looked for. */
export interface VoterSources {
  /** The file as it is now. */
  approvers(): Promise<Approvers>;
  client: Pick<Countersign, 'view'>;
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
  if (addresses.length > 0) return [...new Set(addresses)];
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
  { approvers, client, tester }: Omit<VoterSources, 'by'>,
): Promise<{ file: Approvers; names: readonly string[] }> {
  const { turn, callId } = notice.data;
  const file = await approvers();
  if (notice.type === 'test') return { file, names: testers(file, tester) };
  const call = (await client.view(turn)).calls.find((one) => one.callId === callId);
  const all = votersFor(
    notice,
    call,
    file.people.map(({ name }) => name),
  );
  return { file, names: all.filter((name) => sees(file, name, notice.data)) };
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
  if (type === 'request.escalated') return newVotersOf(frozen);
  const now = type === 'request.opened' ? frozen : call && authorityOn(call);
  return votersOf(now ?? frozen) ?? all;
}

function testers(file: Approvers, tester: string | undefined): string[] {
  const name = tester === undefined ? undefined : file.personOf(tester);
  if (name !== undefined) return [name];
  throw new CountersignError(
    'notify_failed',
    `${tester ?? 'you'} is not in ${file.file}; name somebody with --to`,
  );
}
