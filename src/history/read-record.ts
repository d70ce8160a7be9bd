import type { DecodedEvent } from './decode/events';
import { refuseNewer } from './from-json';
import type { HistorySource } from './read';
import type { History } from './read-histories';
import { turnIdOf } from './turn-id-of';

/** The decoded events of each run of a turn, first one first. What a reset took back is not among them. */
export type Runs = readonly (readonly DecodedEvent[])[];

/**
 * Decodes the runs of a turn, as the server has them or as they were exported.
 *
 * @throws CountersignError `key_missing`, `newer_version`.
 */
export async function decodeRuns(
  { decode, namespace }: Pick<HistorySource, 'decode' | 'namespace'>,
  histories: readonly History[],
): Promise<Runs> {
  const runs: DecodedEvent[][] = [];
  for (const history of histories) {
    refuseNewer(history);
    const owner = { type: 'workflow', namespace, workflowId: turnIdOf(history).turn } as const;
    const events: DecodedEvent[] = [];
    for (const raw of history.events ?? []) events.push(await decode(raw, owner));
    runs.push(events);
  }
  return runs;
}
