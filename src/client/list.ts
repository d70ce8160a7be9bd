import type { WorkflowExecutionInfo } from '@temporalio/client';
import { MEMO, SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { TURN_STATES } from '../contract/turn';
import { ask, type Desk } from './desk';
import { quoted } from './query';
import { activeSince } from './runs';
import type { ListQuery, TurnSummary } from './types';

const LIMIT = 50;

/** Turns, newest first; of a turn with more than one run the newest one. Works with every worker down. */
export async function listTurns(desk: Desk, query: ListQuery): Promise<TurnSummary[]> {
  const limit = query.limit ?? LIMIT;
  return ask(desk, 'listing turns', async () => {
    const turns = new Map<string, TurnSummary>();
    const listed = desk.lister.workflow.list({ query: queryOf(query), pageSize: Math.min(limit + 1, 1000) });
    for await (const info of listed) {
      if (!turns.has(info.workflowId)) turns.set(info.workflowId, summaryOf(info));
      if (turns.size >= limit) break;
    }
    return [...turns.values()];
  });
}

function queryOf({ state, agent, since }: ListQuery): string {
  const parts = [
    `WorkflowType = '${WORKFLOWS.turn}'`,
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(state === undefined ? [] : [stateFilter(state)]),
    ...(agent === undefined ? [] : [`${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`]),
    ...(since === undefined ? [] : [activeSince(since)]),
  ];
  return parts.join(' AND ');
}

/** A turn that was ended from outside keeps the attributes it had, so its status decides. */
function stateFilter(state: TurnSummary['state']): string {
  const own = `${SEARCH_ATTRIBUTES.state} = '${state}'`;
  switch (state) {
    case 'terminated':
      return "ExecutionStatus = 'Terminated'";
    case 'timed_out':
      return "ExecutionStatus = 'TimedOut'";
    case 'failed':
      return "ExecutionStatus = 'Failed'";
    case 'cancelled':
      return "ExecutionStatus = 'Canceled'";
    case 'answered':
    case 'step_limit':
      return `${own} AND ExecutionStatus = 'Completed'`;
    default:
      return `${own} AND ExecutionStatus = 'Running'`;
  }
}

function summaryOf(info: WorkflowExecutionInfo): TurnSummary {
  const prompt = info.memo?.[MEMO.prompt];
  const state = stateOf(info);
  const open = info.status.name === 'RUNNING';
  return {
    turn: info.workflowId,
    runId: info.runId,
    agent: String(attribute(info, SEARCH_ATTRIBUTES.agent) ?? ''),
    state,
    pending: open ? Number(attribute(info, SEARCH_ATTRIBUTES.pending) ?? 0) : 0,
    prompt: typeof prompt === 'string' ? prompt : '',
    startedAt: info.startTime.toISOString(),
    endedAt: info.closeTime?.toISOString() ?? null,
  };
}

function stateOf(info: WorkflowExecutionInfo): TurnSummary['state'] {
  switch (info.status.name) {
    case 'TERMINATED':
      return 'terminated';
    case 'TIMED_OUT':
      return 'timed_out';
    case 'FAILED':
      return 'failed';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return TURN_STATES.find((state) => state === attribute(info, SEARCH_ATTRIBUTES.state)) ?? 'running';
  }
}

function attribute(info: WorkflowExecutionInfo, name: string): unknown {
  return info.searchAttributes[name]?.[0];
}
