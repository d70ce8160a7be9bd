import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { asksForPlace, type ChosenPlace, choosePlace } from '../../contract/authority/in-place-of';
import type { InPlaceOf } from '../../contract/authority/votes';
import type { CountersignError } from '../../contract/errors';
import { relative } from '../../contract/text/times';
import { authorityOn } from '../../history/labels';
import type { CallView } from '../../history/view';
import { usageError } from '../options';
import { escapeText } from '../print/escape';
import type { Screen } from '../print/screen';

/** The option of a command with which a person decides for another person. */
export interface PlaceOption {
  inPlaceOf?: string;
}

/** Adds this option to a command. */
export function addPlaceOption(command: Command): Command {
  return command.option('--in-place-of <who>', 'vote for who is away and named you');
}

interface Asking {
  client: Pick<Countersign, 'away'>;
  call: CallView;
  approver: string;
  screen: Pick<Screen, 'note'>;
}

/**
 * The place in which a person votes, which is also printed. Empty: the person votes as themselves, and the turn checks
 * whether the person may vote.
 *
 * @throws CountersignError `usage` if the person may not vote in the place of the named person, or has to choose
 * between people.
 */
export async function placeFor(
  { inPlaceOf: named }: PlaceOption,
  { client, call, approver, screen }: Asking,
): Promise<{ inPlaceOf?: InPlaceOf }> {
  const voting = {
    ...{ authority: authorityOn(call), approver },
    named: named === undefined ? undefined : { person: named },
  };
  if (!asksForPlace(voting)) return {};
  const [entries, now] = [await entriesOf(client, named), Date.now()];
  const chosen = choosePlace(voting, { entries, now });
  if ('why' in chosen) throw noVote(chosen, { named, call });
  if (chosen.place === undefined) return {};
  const { person, entry, until } = chosen.place;
  screen.note(escapeText(`you vote in place of ${person}, who is away; it ends ${relative(until, now)}`));
  return { inPlaceOf: { person, entry } };
}

/**
 * The out-of-office entries. If the entries cannot be read and the person named nobody, the list is empty. The turn
 * then checks the vote itself.
 */
async function entriesOf({ away }: Pick<Countersign, 'away'>, named: string | undefined) {
  const listed = away.list();
  return (await (named === undefined ? listed.catch(() => ({ entries: [] })) : listed)).entries;
}

function noVote(
  chosen: Extract<ChosenPlace, { why: string }>,
  { named = '', call }: { named: string | undefined; call: CallView },
): CountersignError {
  if (chosen.why === 'no_rule')
    return usageError(
      `no rule says who decides ${call.callId}, so nobody has a place in which you could vote`,
    );
  if (chosen.why === 'ambiguous')
    return usageError(
      `you may vote in place of ${chosen.people.join(' and ')}`,
      'Choose one of them with --in-place-of <who>.',
    );
  return usageError(
    `you have no vote in place of ${named}: the rule does not name them, they are not away with you in their place, or they or you may not vote on it`,
    'countersign away shows who is away; countersign approvers explain says who may vote.',
  );
}
