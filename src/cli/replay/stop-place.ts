import { CountersignError } from '../../contract/errors';
import type { Decode } from '../../history/decode';
import { turnEventsOfRuns } from '../../history/from-json';
import { eventAt, type Point } from '../../history/point';
import type { History } from '../../history/read-histories';
import { taskAt } from '../../history/replay/task-at';

/** Where a debugger stops: in which run, and in which of its workflow tasks, by the id of its started event. */
export interface StopPlace {
  history: History;
  startedId: number;
}

/**
 * Where the code meets a point of a turn; without one, its first workflow task.
 *
 * @throws CountersignError `point_not_found`, also where no workflow task came after the event; `not_a_turn` for a step
 * or a call of another workflow.
 */
export async function stopPlace(
  runs: readonly History[],
  point: Point | undefined,
  decode: Decode,
): Promise<StopPlace> {
  const { run = runs.length, eventId } = await eventOf(runs, point, decode);
  const history = runs[run - 1];
  const startedId = taskAt(history?.events ?? [], eventId);
  if (history !== undefined && startedId !== undefined) return { history, startedId };
  throw new CountersignError('point_not_found', `no code ran at event ${run}#${eventId}`, {
    hint: `name an event of a workflow task, or one before; there ${runs.length === 1 ? 'is 1 run' : `are ${runs.length} runs`} to choose from`,
  });
}

/** An event may be one of a workflow that is no turn. */
async function eventOf(
  runs: readonly History[],
  point: Point | undefined,
  decode: Decode,
): Promise<{ run?: number; eventId: number }> {
  if (point === undefined) return { run: 1, eventId: 1 };
  return point.kind === 'event' ? point : eventAt(await turnEventsOfRuns(runs, decode), point);
}
