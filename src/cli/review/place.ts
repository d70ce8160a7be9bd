import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { needsPlace, type Place, placesOf } from '../../contract/authority/places';
import { type InPlaceOf, isSameName } from '../../contract/authority/votes';
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
 * The place in which a person votes, which is also printed. It is the place of the person that they name. Without a
 * name, and where the rule does not name the voter, it is the place of the only person who is away and named the voter.
 * Empty: they vote as themselves, and the turn says whether they may.
 *
 * @throws CountersignError `usage` where they name a person in whose place they may not vote, or have to choose between
 * people.
 */
export async function placeFor(
  { inPlaceOf: named }: PlaceOption,
  { client, call, approver, screen }: Asking,
): Promise<{ inPlaceOf?: InPlaceOf }> {
  const authority = authorityOn(call);
  if (authority === undefined) {
    if (named === undefined) return {};
    throw usageError(
      `no rule says who decides ${call.callId}, so nobody has a place in which you could vote`,
    );
  }
  if (named === undefined && !needsPlace(authority, approver)) return {};
  const [entries, now] = [await entriesOf(client, named), Date.now()];
  const places = placesOf(authority, approver, { entries, now });
  const chosen = named === undefined ? places : places.filter(({ person }) => isSameName(person, named));
  const [place, other] = chosen;
  if (other !== undefined) throw ambiguous(places);
  if (place === undefined) {
    if (named === undefined) return {};
    throw usageError(
      `you have no vote in place of ${named}: the rule does not name them, or they are not away with you in their place`,
      'countersign away shows who is away.',
    );
  }
  const { person, entry, until } = place;
  screen.note(escapeText(`you vote in place of ${person}, who is away; it ends ${relative(until, now)}`));
  return { inPlaceOf: { person, entry } };
}

/**
 * The out-of-office entries. Where they cannot be read and the person named nobody, the list is empty: the turn then
 * decides.
 */
async function entriesOf({ away }: Pick<Countersign, 'away'>, named: string | undefined) {
  const listed = away.list();
  return (await (named === undefined ? listed.catch(() => ({ entries: [] })) : listed)).entries;
}

function ambiguous(places: readonly Place[]) {
  const who = places.map(({ person }) => person).join(' and ');
  return usageError(`you may vote in place of ${who}`, 'Choose one of them with --in-place-of <who>.');
}
