import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { defined } from '../history/defined';
import { toCountersignError } from '../history/server-errors';
import type { Desk } from './desk';
import { quoted } from './query';
import type { RunQuery, RunSummary } from './types';

/**
 * Runs of turns, and of other workflows that gate calls, newest first. A turn that continued as new or was reset has
 * several; all of them are listed. Works with every worker down.
 */
export async function* listRuns(desk: Desk, query: RunQuery): AsyncGenerator<RunSummary> {
  try {
    // Without a deadline over all: a namespace may have a million runs, and the SDK asks page by page.
    for await (const info of desk.lister.workflow.list({ query: queryOf(query), pageSize: 1000 })) {
      const { workflowId: turn, runId, startTime, status } = info;
      yield { turn, runId, startedAt: startTime.toISOString(), open: status.name === 'RUNNING' };
    }
  } catch (error) {
    throw toCountersignError(error, 'listing runs');
  }
}

function queryOf({ query, turn, agent, since, until }: RunQuery): string {
  if (query !== undefined) return query;
  const { agent: agentAttribute } = SEARCH_ATTRIBUTES;
  const filters = defined({
    turn: turn && `WorkflowId = ${quoted(turn)}`,
    agent: agent && `${agentAttribute} = ${quoted(agent)}`,
    since: since && activeSince(since),
    until: until && `StartTime < '${until}'`,
  });
  const ours = `(WorkflowType = '${WORKFLOWS.turn}' OR ${agentAttribute} IS NOT NULL)`;
  return [ours, ...Object.values(filters)].join(' AND ');
}

/** Still open, or closed at that time or later. */
export function activeSince(since: string): string {
  return `(ExecutionStatus = 'Running' OR CloseTime >= '${since}')`;
}
