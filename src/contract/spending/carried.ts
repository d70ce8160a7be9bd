import type { JsonSchema } from '../tool';
import { AMOUNT, BUDGET, type Budget, type Spent } from './budget';

/** The budget and the spending of a turn, or of a session with all its turns. */
export interface CarriedSpending {
  /** The budget as it is now, with every raise by people. */
  budget: Budget;
  /** Whether the agent has said which budget it allows. */
  isSet: boolean;
  spent: Spent;
}

/** Steps in a row that asked for the same calls and got the same results. */
export interface Repeated {
  /** Digest of the calls of the last step. */
  calls: string;
  /** Digest of the results of the last step. */
  results: string;
  /** The number of such steps in a row. */
  times: number;
  /** The number of further steps in a row that did not run because they asked for the same calls. */
  refused: number;
}

/** No steps that were alike. */
export const NOTHING_REPEATED: Repeated = { calls: '', results: '', times: 0, refused: 0 };

/** The schema of spending that comes from outside. */
export const SPENT: JsonSchema = {
  type: 'object',
  properties: {
    tokens: AMOUNT,
    steps: AMOUNT,
    time: AMOUNT,
    estimated: AMOUNT,
    money: { type: 'object', maxProperties: 20, additionalProperties: AMOUNT },
  },
  required: ['tokens', 'steps', 'time'],
};

/** The schema of budget and spending as the next run gets them. */
export const SPENDING: JsonSchema = {
  type: 'object',
  properties: { budget: BUDGET, isSet: { type: 'boolean' }, spent: SPENT },
  required: ['budget', 'isSet', 'spent'],
};

const WHOLE: JsonSchema = { type: 'integer', minimum: 0 };

/** The schema of the last steps that were alike, as the next run gets them. */
const REPEATED: JsonSchema = {
  type: 'object',
  properties: { calls: { type: 'string' }, results: { type: 'string' }, times: WHOLE, refused: WHOLE },
  required: ['calls', 'results', 'times', 'refused'],
};

/** The fields about spending that a turn takes along when it continues as new. */
export const CARRIED_SPENDING = { spending: SPENDING, repeated: REPEATED, children: WHOLE };
