import type { temporal } from '@temporalio/proto';
import { readChain } from './chain';
import type { TurnEvent } from './events';
import { createFold } from './fold';
import type { HistorySource } from './read';
import { readRun, type HistoryServer } from './read-run';

/** A history as the server keeps it: payloads are not decoded. */
export type History = temporal.api.history.v1.IHistory;

/** A run of a turn, by its ids. */
export interface RunIds {
  turn: string;
  runId: string;
}

/** The turn events of one run alone, so far. Errors: as `readTurn`. */
export async function readRunEvents(source: HistorySource, { turn, runId }: RunIds): Promise<TurnEvent[]> {
  const fold = createFold();
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: turn } as const;
  const events: TurnEvent[] = [];
  for await (const raw of wholeRun(source, { turn, runId }))
    events.push(...fold.push(await source.decode(raw, owner)));
  return events;
}

/** The histories of a turn's runs, first one first. Errors: as `readTurn`. */
export async function readHistories(server: HistoryServer, turn: string): Promise<History[]> {
  const histories: History[] = [];
  for (const runId of await readChain(server, turn))
    histories.push(await readHistory(server, { turn, runId }));
  return histories;
}

/** The history of one run. Errors: as `readTurn`. */
export async function readHistory(server: HistoryServer, run: RunIds): Promise<History> {
  const events: NonNullable<History['events']> = [];
  for await (const raw of wholeRun(server, run)) events.push(raw);
  return { events };
}

function wholeRun(server: HistoryServer, run: RunIds) {
  return readRun(server, { ...run, live: false, signal: new AbortController().signal });
}
