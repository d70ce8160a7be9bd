import type { Deed, RecordedDeed, RecordedTask } from './deeds';
import { isSame } from './deeds';

/**
 * Where code and history go apart. `other`: the code does something else; `missing`: it does not do what history has;
 * `extra`: it does something that history does not have.
 */
export type Difference =
  | { kind: 'other'; recorded: RecordedDeed; done: Deed }
  | { kind: 'missing'; recorded: RecordedDeed }
  | { kind: 'extra'; done: Deed; afterId: number };

/** What code did in each workflow task, by the id of the task's started event. */
export type DoneByTask = ReadonlyMap<number, readonly Deed[]>;

/** The first thing that code and history do not have in common; undefined where the tasks that were compared agree. */
export function firstDifference(tasks: readonly RecordedTask[], done: DoneByTask): Difference | undefined {
  for (const { startedId, deeds } of tasks) {
    const now = done.get(startedId);
    if (now === undefined) continue;
    const difference = compare(deeds, now, startedId);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function compare(
  recorded: readonly RecordedDeed[],
  done: readonly Deed[],
  startedId: number,
): Difference | undefined {
  for (let at = 0; at < Math.max(recorded.length, done.length); at++) {
    const [was, is] = [recorded[at], done[at]];
    if (was !== undefined && is !== undefined && isSame(was.deed, is)) continue;
    if (was === undefined)
      return is && { kind: 'extra', done: is, afterId: recorded.at(-1)?.eventId ?? startedId };
    return is === undefined ? { kind: 'missing', recorded: was } : { kind: 'other', recorded: was, done: is };
  }
  return undefined;
}
