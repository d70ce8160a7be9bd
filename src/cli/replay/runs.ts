import type { Countersign, RunQuery, RunSummary } from '../../client';
import { CountersignError } from '../../contract/errors';
import { detailsOf, STATUS, statusOf } from '../../history/server-errors';
import { turnIdOf } from '../../history/turn-id-of';
import type { History } from '../../history/read-histories';
import { mapOrdered } from '../../client/ordered';
import type { NamedRun } from './judge';

/** Histories that are read at once while others are replayed. */
const AT_ONCE = 8;

/** How far a batch is. */
export interface ReplayProgress {
  runs: number;
  done: number;
  /** Runs that the server deleted between listing and reading: their retention was over. */
  gone: number;
}

/**
 * The runs of the newest turns that a query finds, newest first. A turn that continued as new or was reset counts once;
 * of its runs those are left out that are older than all of the turns that count.
 */
export async function newestRuns(
  desk: Pick<Countersign, 'runs'>,
  query: RunQuery,
  mostTurns: number,
): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  const turns = new Set<string>();
  for await (const run of desk.runs(query)) {
    if (!turns.has(run.turn) && turns.size === mostTurns) break;
    turns.add(run.turn);
    runs.push(run);
  }
  return runs;
}

/** A query that somebody typed and the server does not understand is a mistake of theirs. */
export function asQueryMistake(error: unknown, query: string | undefined): unknown {
  if (query === undefined || statusOf(error) !== STATUS.invalidArgument) return error;
  return new CountersignError('usage', `--query ${query}: ${detailsOf(error)}`, {
    hint: "Write one as Temporal's list filter takes it: CountersignAgent = 'clerk' AND ExecutionStatus = 'Running'.",
    cause: error,
  });
}

/** The histories of runs, in their order; one that is gone meanwhile is counted and left out. */
export async function* fetchRuns(
  desk: Pick<Countersign, 'history'>,
  runs: readonly RunSummary[],
  progress: ReplayProgress,
): AsyncGenerator<NamedRun> {
  const fetch = async (run: RunSummary) => ({ run, history: await historyOf(desk, run) });
  for await (const { run, history } of mapOrdered(runs, AT_ONCE, fetch)) {
    if (history === undefined) progress.gone += 1;
    else yield { turn: run.turn, runId: run.runId, history };
  }
}

async function historyOf(desk: Pick<Countersign, 'history'>, run: RunSummary): Promise<History | undefined> {
  try {
    return await desk.history(run);
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'turn_not_found') return undefined;
    throw error;
  }
}

/** The runs of one turn, whose histories name their ids. */
export async function* namedRuns(histories: readonly History[]): AsyncGenerator<NamedRun> {
  for (const history of histories) yield { ...turnIdOf(history), history };
}
