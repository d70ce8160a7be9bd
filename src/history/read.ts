import type { DecodedEvent } from './decode/events';
import type { Decode } from './decode';
import { readChain, currentRun } from './chain';
import type { TurnEvent } from './events';
import { createFold } from './fold';
import { readRun, type HistoryServer } from './read-run';

/** A server, and what decodes its payloads. */
export interface HistorySource extends HistoryServer {
  decode: Decode;
}

/** How to read a turn. */
export interface ReadOptions {
  /** Waits for what still comes, until the turn ends. @default false */
  live?: boolean;
  /** Ends the reading; nothing is thrown then. */
  signal?: AbortSignal;
}

/**
 * The turn events of a turn from its first run on, through every run it continued in and every reset.
 * Runs that a reset took back and that were over before this was called are left out.
 *
 * @throws CountersignError `turn_not_found`, `no_server` (after 5 minutes without it where `live`), `server_failed`.
 */
export async function* readTurn(
  source: HistorySource,
  turn: string,
  { live = false, signal = new AbortController().signal }: ReadOptions = {},
): AsyncGenerator<TurnEvent> {
  const fold = createFold();
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: turn } as const;
  const runs = await readChain(source, turn);
  let undone = false;
  for (let runId = runs.shift(); runId !== undefined;) {
    let next: NextRun | undefined;
    for await (const raw of readRun(source, { turn, runId, live, signal })) {
      const event = await source.decode(raw, owner);
      next = await nextRun(source, { turn, runId, event });
      const events = fold.push(event);
      if (next?.reset === true) continue;
      if (event.kind === 'reset') undone = false;
      if (!undone) yield* events;
    }
    if (next === undefined || signal.aborted) return;
    undone = next.reset;
    runId = next.runId;
  }
}

/** Every turn event of a turn so far. Errors: as `readTurn`. */
export async function readTimeline(source: HistorySource, turn: string): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of readTurn(source, turn)) events.push(event);
  return events;
}

/** The run that goes on where one ended. `reset`: it repeats the beginning of the one before. */
interface NextRun {
  runId: string;
  reset: boolean;
}

/** A run that an operator reset ends as terminated, and another one is current; nobody ended the turn then. */
async function nextRun(
  source: HistorySource,
  { turn, runId, event }: { turn: string; runId: string; event: DecodedEvent },
): Promise<NextRun | undefined> {
  if (event.kind === 'continued_as_new') return { runId: event.newRunId, reset: false };
  if (event.kind !== 'terminated') return undefined;
  const current = await currentRun(source, turn);
  return current.runId === runId ? undefined : { runId: current.runId, reset: true };
}
