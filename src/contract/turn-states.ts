/** The effect of a message while a turn runs. If no turn runs, each message starts the next turn. */
export const MODES = ['queue', 'interrupt', 'steer'] as const;
export type MessageMode = (typeof MODES)[number];

/** How a turn ended that has a result. */
export const RESULT_STATUSES = ['answered', 'step_limit', 'budget', 'loop'] as const;
export type ResultStatus = (typeof RESULT_STATUSES)[number];

/** How a turn ended. `terminated` and `timed_out`: the turn was ended from outside. */
export const TURN_ENDS = [...RESULT_STATUSES, 'failed', 'cancelled', 'terminated', 'timed_out'] as const;
export type TurnEnd = (typeof TURN_ENDS)[number];

/**
 * The states in CountersignState. `waiting`: at least one request or question waits. `in_doubt`: at least one call is
 * in doubt. `in_doubt` wins over `waiting`.
 */
export const TURN_STATES = [
  'running',
  'waiting',
  'in_doubt',
  ...RESULT_STATUSES,
  'failed',
  'cancelled',
] as const;
export type TurnState = (typeof TURN_STATES)[number];

/**
 * What happened to a call of a turn: a person denied or edited it, it failed, or it ran by a grant. What ran in a burst
 * does not count.
 */
export const CALL_FACETS = ['denied', 'failed', 'edited', 'granted'] as const;
export type CallFacet = (typeof CALL_FACETS)[number];

/** The states that a list of turns shows. */
export const LISTED_STATES = [...TURN_STATES, 'terminated', 'timed_out'] as const;
