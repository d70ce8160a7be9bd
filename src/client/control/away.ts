import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Away,
  type AwayAsked,
  type AwayRefused,
  type AwaySeen,
  type AwayTerms,
  type BackAsked,
} from '../../contract/control/away';
import { isAwaySeen } from '../../contract/control/away-forms';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { MEMO, QUERIES, UPDATES } from '../../contract/names';
import { ask } from '../../history/server-errors';
import type { ClientContext } from '../context';
import { queryControl } from './grants';
import { describeControl, startControl, tellControl } from './pauses';
import type { AwayList } from './types';

/** The absences of a namespace. */
export function makeAway(context: ClientContext): AwayList {
  return {
    put: async (asked) => {
      await ask(context, 'starting the workflow that holds who is away', () =>
        startControl(context.client, 'unless closed'),
      );
      const entry = await update<AwayAsked>(context, UPDATES.away, asked);
      // After this time, no worker uses what it read before.
      await delay(TIMES.pausesKnown);
      return entry;
    },
    end: (asked) => update<BackAsked>(context, UPDATES.back, asked),
    list: () => listAway(context),
  };
}

/**
 * The terms of an out-of-office that somebody is about to enter. Nothing is sent yet. `start`, `end`: milliseconds
 * since 1970.
 */
export function awayTerms(
  who: Pick<AwayTerms, 'from' | 'to'>,
  { start, end }: { start: number; end: number },
): AwayTerms {
  const iso = (moment: number): string => new Date(moment).toISOString();
  return { id: randomUUID(), ...who, start: iso(start), end: iso(end), at: iso(Date.now()) };
}

async function listAway(context: ClientContext): Promise<AwaySeen> {
  const { memo } = (await describeControl(context, 'asking who is away')) ?? {};
  // The memo has the number of absences. If nobody is away, no worker has to answer.
  if ((memo?.[MEMO.away] ?? 0) === 0) return { entries: [] };
  const found = await queryControl(context, QUERIES.away, 'who is away');
  if (found === undefined) return { entries: [] };
  if (isAwaySeen(found)) return found;
  throw new CountersignError('server_failed', 'the answer to who is away cannot be read', {
    hint: 'are the workers of this version? countersign doctor shows it',
  });
}

function update<A>(context: ClientContext, name: string, asked: A): Promise<Away> {
  return tellControl<Away, A, AwayRefused['code']>(
    context,
    { name, asked },
    {
      hints: HINTS,
      doing: name === UPDATES.back ? 'ending an out-of-office' : 'saying who is away',
    },
  );
}

const HINTS: Readonly<Record<AwayRefused['code'], string>> = {
  malformed: 'see countersign away --help',
  away_refused: 'countersign away shows who is away; countersign back ends it',
  away_full: 'end those that are not needed with countersign back <person>',
  away_not_found: 'countersign away shows who is away',
};
