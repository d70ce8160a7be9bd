/** What a person reads of an activity that is not closed yet, by its state. */
export const ACTIVITY_STATE_WORDS = {
  scheduled: 'waits for a worker',
  started: 'runs',
  cancel_requested: 'is being cancelled',
  paused: 'is paused by an operator',
} as const;
