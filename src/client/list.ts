import type { WorkflowExecutionInfo } from '@temporalio/client';
import { MEMO, SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { TURN_STATES } from '../contract/turn';
import { ask, type Desk } from './desk';
import { quoted } from './query';
import { activeSince } from './runs';
import { isTurnId } from './turn-id';
import type { ListQuery, TurnSummary } from './types';

const LIMIT = 50;

/** How many turns are looked at for words of a prompt: visibility cannot search them. */
const MOST_SEARCHED = 2_000;

/** Turns, newest first; of a turn with more than one run the newest one. Works with every worker down. */
export async function listTurns(desk: Desk, query: ListQuery): Promise<TurnSummary[]> {
  const { limit = LIMIT, search } = query;
  return ask(desk, 'listing turns', async () => {
    if (search === undefined) return collectTurns(desk, queryOf(query), { limit });
    const byId = isTurnId(search)
      ? await collectTurns(desk, `${queryOf(query)} AND WorkflowId STARTS_WITH '${search}'`, { limit })
      : [];
    const byPrompt = await collectTurns(desk, queryOf(query), { limit, words: search.toLowerCase() });
    const found = new Map([...byId, ...byPrompt].map((turn) => [turn.turn, turn]));
    return [...found.values()].sort(newestFirst).slice(0, limit);
  });
}

function newestFirst(a: TurnSummary, b: TurnSummary): number {
  return a.startedAt < b.startedAt ? 1 : -1;
}

async function collectTurns(
  desk: Desk,
  query: string,
  { limit, words = '' }: { limit: number; words?: string },
): Promise<TurnSummary[]> {
  const turns = new Map<string, TurnSummary>();
  let seen = 0;
  const pageSize = Math.min(words === '' ? limit + 1 : MOST_SEARCHED, 1000);
  for await (const info of desk.lister.workflow.list({ query, pageSize })) {
    const turn = summaryOf(info);
    if (!turns.has(turn.turn) && turn.prompt.toLowerCase().includes(words)) turns.set(turn.turn, turn);
    if (turns.size >= limit || (words !== '' && ++seen >= MOST_SEARCHED)) break;
  }
  return [...turns.values()];
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
