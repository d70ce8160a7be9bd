import type { History } from './read-histories';

/** The ids that a history has in its first event: those of its turn and of the run that recorded it first. */
export function turnIdOf({ events }: History): { turn: string; runId: string } {
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  return { turn: started?.workflowId || 'turn', runId: started?.originalExecutionRunId ?? '' };
}
