import type { RunQuery } from '../../client';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../../contract/names';
import { readCount } from '../read-value';
import { replayWithDeadline } from './replayers';
import { asQueryMistake, fetchRuns, newestRuns } from './runs';
import { judgeAll, type Done, type Work } from './work';

/** Unless `--last` says so; enough for a gate, few enough to wait for. */
const MOST = 200;

/** Judges the runs of the newest turns of a server, or of those that a query finds. */
export function judgeBatch(work: Work): Promise<Done> {
  const { last, query, workflows } = work.options;
  const most = last === undefined ? MOST : readCount(last, '--last');
  return work.context.withDesk(async (desk) => {
    const runs = await newestRuns(desk, queryFor(query, workflows), most).catch((error: unknown) => {
      throw asQueryMistake(error, query);
    });
    work.progress.runs = runs.length;
    return judgeAll(fetchRuns(desk, runs, work.progress), work, await replayWithDeadline(work));
  });
}

/** Code of one's own has no turn, and ours has nothing else. */
function queryFor(query: string | undefined, workflows: string | undefined): RunQuery {
  const turn = `WorkflowType = '${WORKFLOWS.turn}'`;
  const own = `${SEARCH_ATTRIBUTES.agent} IS NOT NULL AND WorkflowType != '${WORKFLOWS.turn}'`;
  return { query: query ?? (workflows === undefined ? turn : own) };
}
