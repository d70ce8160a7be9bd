import type { JsonSchema } from '../tool';
import { AMOUNT, BUDGET, type Budget, type Spent } from './budget';

/** What a turn, or a session with all its turns, may spend and has spent. */
export interface CarriedSpending {
  /** The budget as it is by now, where people raised it. */
  budget: Budget;
  /** The agent has said what it allows. */
  isSet: boolean;
  spent: Spent;
}

/** Steps in a row that asked for the same calls and got the same results. */
export interface Repeated {
  /** Digest of the calls of the last step. */
  calls: string;
  /** Digest of its results. */
  results: string;
  /** How many in a row. */
  times: number;
  /** How many in a row did not run for that. */
  refused: number;
}

/** What has been spent, as it comes from outside. */
const SPENT: JsonSchema = {
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

/** What may be spent and has been spent, as the next run gets it. */
export const SPENDING: JsonSchema = {
  type: 'object',
  properties: { budget: BUDGET, isSet: { type: 'boolean' }, spent: SPENT },
  required: ['budget', 'isSet', 'spent'],
};

const WHOLE: JsonSchema = { type: 'integer', minimum: 0 };

/** The last steps that were alike, as the next run gets them. */
const REPEATED: JsonSchema = {
  type: 'object',
  properties: { calls: { type: 'string' }, results: { type: 'string' }, times: WHOLE, refused: WHOLE },
  required: ['calls', 'results', 'times', 'refused'],
};

/** What a turn takes along of all this when it continues as new. */
export const CARRIED_SPENDING = { spending: SPENDING, repeated: REPEATED, children: WHOLE };
