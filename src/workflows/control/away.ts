import { setHandler, upsertMemo } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import { addAway, type AwayState, endAway } from '../../contract/control/away';
import { AWAY_FIELDS, isAwayAsked, isBackAsked } from '../../contract/control/away-forms';
import type { ControlInput } from '../../contract/control/pauses';
import { FAILURES, MEMO } from '../../contract/names';
import { awayQuery, awayUpdate, backUpdate } from '../messages';
import { readAs, take } from './take';

/** The absences, and the number of updates that this run has taken. */
export interface HeldAway {
  away: AwayState;
  updates: number;
}

const failure = FAILURES.away;
const AWAY = {
  what: 'out-of-office',
  bytes: 16 * 1024,
  fields: AWAY_FIELDS.asked,
  fits: isAwayAsked,
  failure,
};
const BACK = {
  ...{ what: 'end of an out-of-office', bytes: 4 * 1024 },
  ...{ fields: AWAY_FIELDS.back, fits: isBackAsked, failure },
};

/**
 * Takes the updates and the query about absences. The memo has only the number of absences: a worker asks who is away
 * when a vote is cast in somebody's place.
 */
export function takeAway(held: HeldAway): void {
  const keep = (state: AwayState): void => {
    const [before, now] = [held.away.entries.length, state.entries.length];
    held.away = state;
    if (before !== now) upsertMemo({ [MEMO.away]: now === 0 ? null : now });
  };
  const going = (message: RawValue) => addAway(held.away, readAs(message, AWAY), Date.now());
  const coming = (message: RawValue) => endAway(held.away, readAs(message, BACK), Date.now());
  take(held, { update: awayUpdate, failure }, going, ({ state, entry }) => {
    keep(state);
    return entry;
  });
  take(held, { update: backUpdate, failure }, coming, ({ state, entry }) => {
    keep(state);
    return entry;
  });
  setHandler(awayQuery, () => ({ entries: [...held.away.entries] }));
}

/** The absences that the next run takes along. */
export function awayInput(away: AwayState): Pick<ControlInput, 'away'> {
  return away.entries.length + away.ended.length === 0 ? {} : { away };
}
