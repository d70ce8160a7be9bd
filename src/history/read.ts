import type { DecodedEvent } from './decode/events';
import { type Decode, type History, type HistoryEvent, isReset } from './decode/decode';
import type { TurnEvent } from './events';
import { createFold } from './fold/fold';
import { refuseNewer } from './exported';
import type { HistoryServer, RunIds } from './read-run';
import { readFirst, readHistory, readIfAlone, readRun, wholeRun } from './read-run';
import {
  ask,
  ASK_MS,
  isTransient,
  retry,
  STATUS,
  grpcStatusOf,
  turnNotFound,
  unlessGone,
} from './server-errors';

/** A server, and the decoder of its payloads. */
export interface HistorySource extends HistoryServer {
  decode: Decode;
}

/** How to read a turn. */
export interface ReadOptions {
  /** Waits for further events until the turn ends. @default false */
  live?: boolean;
  /** Ends the reading. Nothing is thrown in that case. */
  signal?: AbortSignal;
  /** Called whenever all events so far were given, before it waits for more. */
  onCaughtUp?: () => void;
}

/**
 * The turn events of a turn from its first run on, through all later runs and every reset. Runs that a reset took back
 * and that were over before this call are left out.
 *
 * @throws CountersignError `not_found`, `no_server` (after 5 minutes without it if `live`), `server_failed`.
 */
export async function* readTurn(
  source: HistorySource,
  turn: string,
  { live = false, signal = new AbortController().signal, onCaughtUp }: ReadOptions = {},
): AsyncGenerator<TurnEvent> {
  const fold = createFold();
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: turn } as const;
  const runs = await readChain(source, turn);
  let undone = false;
  for (let runId = runs.shift(); runId !== undefined;) {
    let next: NextRun | undefined;
    // A run that another run continues is over, so there is more to read after it.
    const caughtUp = runs.length === 0 ? onCaughtUp : undefined;
    const run = { turn, runId, live, signal, onCaughtUp: caughtUp };
    for await (const raw of readRun(source, run)) {
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

/** Every turn event of a turn so far. Throws as `readTurn` does. */
export async function readTimeline(source: HistorySource, turn: string): Promise<TurnEvent[]> {
  const alone = await readIfAlone(source, turn);
  if (alone !== undefined) return folded(source, turn, alone);
  const events: TurnEvent[] = [];
  for await (const event of readTurn(source, turn)) events.push(event);
  return events;
}

/** The run that follows on the end of another run. `reset`: it repeats the beginning of that run. */
interface NextRun {
  runId: string;
  reset: boolean;
}

/**
 * The run that follows on an event that ended a run. A run that an operator reset ends as terminated, and another run
 * is then current. In that case nobody ended the turn.
 */
export async function nextRun(
  source: HistorySource,
  { turn, runId, event }: { turn: string; runId: string; event: DecodedEvent },
): Promise<NextRun | undefined> {
  if (event.kind === 'continued_as_new') return { runId: event.newRunId, reset: false };
  if (event.kind !== 'terminated') return undefined;
  const current = await currentRun(source, turn);
  return current.runId === runId ? undefined : { runId: current.runId, reset: true };
}

/** The turn events of one run alone, so far. Throws as `readTurn` does. */
export async function readRunEvents(source: HistorySource, { turn, runId }: RunIds): Promise<TurnEvent[]> {
  return folded(source, turn, wholeRun(source, { turn, runId }));
}

async function folded(
  { decode, namespace }: HistorySource,
  turn: string,
  raws: Iterable<HistoryEvent> | AsyncIterable<HistoryEvent>,
) {
  const fold = createFold();
  const owner = { type: 'workflow', namespace, workflowId: turn } as const;
  const events: TurnEvent[] = [];
  for await (const raw of raws) events.push(...fold.push(await decode(raw, owner)));
  return events;
}

/** The histories of a turn's runs. The first run comes first. Throws as `readTurn` does. */
export async function readHistories(server: HistoryServer, turn: string): Promise<History[]> {
  const histories: History[] = [];
  for (const runId of await readChain(server, turn))
    histories.push(await readHistory(server, { turn, runId }));
  return histories;
}

/** The ids of a history: of its turn, and of its run. The first event of a run that a reset made names the run before. */
export function turnIdOf({ events }: History): { turn: string; runId: string } {
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  const reset = events?.findLast(isReset)?.workflowTaskFailedEventAttributes;
  const runId = reset?.newRunId || (started?.originalExecutionRunId ?? '');
  return { turn: started?.workflowId || 'turn', runId };
}

/**
 * The decoded events of each run of a turn. The first run comes first. Events that a reset took back are not among
 * them.
 */
export type Runs = readonly (readonly DecodedEvent[])[];

/**
 * Decodes the runs of a turn, as the server has them or as they were exported.
 *
 * @throws CountersignError `key_missing`, `bad_history`.
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

/**
 * The current run, or the last one, and the first run of its chain. Empty if the server does not name the first run.
 */
async function currentRun(server: HistoryServer, turn: string) {
  const description = await describeTurn(server, turn);
  if (description === undefined) throw turnNotFound(turn);
  const { execution, firstRunId } = description.workflowExecutionInfo ?? {};
  return { runId: execution?.runId ?? '', firstRunId: firstRunId ?? '' };
}

/** The server's description of a turn's current run. Undefined if there is no such workflow. */
export async function describeTurn(server: HistoryServer, turn: string) {
  const request = { namespace: server.namespace, execution: { workflowId: turn } };
  const describe = () => server.connection.workflowService.describeWorkflowExecution(request);
  try {
    return await retry({ passes: isTransient, forMs: ASK_MS }, () =>
      ask(server, `reading turn ${turn}`, describe),
    );
  } catch (error) {
    if (grpcStatusOf(error) === STATUS.notFound) return undefined;
    throw error;
  }
}

/**
 * The runs of a turn or session. The first run comes first. Each run names the run that it continues. A run that was
 * reset is not among them, because the run that replaced it repeats the events that still count. A run that the server
 * has deleted is not among them either.
 */
export async function readChain(server: HistoryServer, turn: string): Promise<string[]> {
  const { runId, firstRunId } = await currentRun(server, turn);
  const runs = [runId];
  if (firstRunId === runId) return runs;
  for (let before = await runBefore(server, turn, runId); before !== undefined;) {
    runs.unshift(before);
    before = await runBefore(server, turn, before);
  }
  return runs;
}

/** The run that a run continues. Undefined for the first run, and if the previous run is gone. */
async function runBefore(server: HistoryServer, turn: string, runId: string) {
  const started = await readFirst(server, { turn, runId });
  const before = started?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  if (!before) return undefined;
  const found = await unlessGone(readFirst(server, { turn, runId: before }));
  return found === undefined ? undefined : before;
}
