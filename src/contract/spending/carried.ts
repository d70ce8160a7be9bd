import { flag, integer, object, type Of, text } from '../schema/shape';
import { BUDGET, SPENT } from './budget';

/** The schema of budget and spending as the next run gets them. */
export const SPENDING = object({
  /** The budget as it is now, with every raise by people. */
  budget: BUDGET,
  /** Whether the agent has said which budget it allows. */
  isSet: flag(),
  spent: SPENT,
});

/** The budget and the spending of a turn, or of a session with all its turns. */
export interface CarriedSpending extends Of<typeof SPENDING> {}

/** The schema of a count. */
export const WHOLE = integer({ minimum: 0 });

const REPEATED = object({
  /** Digest of the calls of the last step. */
  calls: text(),
  /** Digest of the results of the last step. */
  results: text(),
  /** The number of such steps in a row. */
  times: WHOLE,
  /** The number of further steps in a row that did not run because they asked for the same calls. */
  refused: WHOLE,
});

/** Steps in a row that asked for the same calls and got the same results. */
export interface Repeated extends Of<typeof REPEATED> {}

/** No steps that were alike. */
export const NOTHING_REPEATED: Repeated = { calls: '', results: '', times: 0, refused: 0 };

/** The fields about spending that a turn takes along when it continues as new. */
export const CARRIED_SPENDING = { spending: SPENDING, repeated: REPEATED, children: WHOLE };
