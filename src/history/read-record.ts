import { readChain } from './chain';
import type { DecodedEvent } from './decode/events';
import type { HistorySource } from './read';
import { readRun } from './read-run';

/** The decoded events of each run of a turn, first one first. What a reset took back is not among them. */
export type Runs = readonly (readonly DecodedEvent[])[];

/**
 * Reads the record of a turn as it is now, run by run.
 *
 * @throws CountersignError `turn_not_found`, `no_server`, `server_failed`, `key_missing`.
 */
export async function readRuns(source: HistorySource, turn: string): Promise<Runs> {
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: turn } as const;
  const { signal } = new AbortController();
  const runs: DecodedEvent[][] = [];
  for (const runId of await readChain(source, turn)) {
    const events: DecodedEvent[] = [];
    for await (const raw of readRun(source, { turn, runId, live: false, signal }))
      events.push(await source.decode(raw, owner));
    runs.push(events);
  }
  return runs;
}
