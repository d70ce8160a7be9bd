import { factsIn, mayBeId } from './start-turn';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { MEMO, SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { TURN_STATES } from '../contract/turn';
import type { ClientContext } from './context';

import type { ListQuery, RunQuery, RunSummary, TurnSummary } from './types';
import { defined } from '../contract/defined';
import { toCountersignError, ask } from '../history/server-errors';

const LIMIT = 50;

/** How many turns are looked at for words of a prompt: visibility cannot search them. */
const MOST_SEARCHED = 2_000;

/** Turns, newest first; of a turn with more than one run the newest one. Works with every worker down. */
export async function listTurns(context: ClientContext, query: ListQuery): Promise<TurnSummary[]> {
  const { limit = LIMIT, search } = query;
  return ask(context, 'listing turns', async () => {
    if (search === undefined) return collectTurns(context, turnQuery(query), { limit });
    const byId = mayBeId(search)
      ? await collectTurns(context, `${turnQuery(query)} AND WorkflowId STARTS_WITH ${quoted(search)}`, {
          limit,
        })
      : [];
    const byPrompt = await collectTurns(context, turnQuery(query), { limit, words: search.toLowerCase() });
    const found = new Map([...byId, ...byPrompt].map((turn) => [turn.turn, turn]));
    return [...found.values()].sort(newestFirst).slice(0, limit);
  });
}

function newestFirst(a: TurnSummary, b: TurnSummary): number {
  return a.startedAt < b.startedAt ? 1 : -1;
}

async function collectTurns(
  context: ClientContext,
  query: string,
  { limit, words = '' }: { limit: number; words?: string },
): Promise<TurnSummary[]> {
  const turns = new Map<string, TurnSummary>();
  let seen = 0;
  const pageSize = Math.min(words === '' ? limit + 1 : MOST_SEARCHED, LIST_PAGE);
  for await (const info of context.lister.workflow.list({ query, pageSize })) {
    const turn = summaryOf(info);
    if (!turns.has(turn.turn) && turn.prompt.toLowerCase().includes(words)) turns.set(turn.turn, turn);
    if (turns.size >= limit || (words !== '' && ++seen >= MOST_SEARCHED)) break;
  }
  return [...turns.values()];
}

function turnQuery({ state, agent, metadata, since }: ListQuery): string {
  const parts = [
    `WorkflowType = '${WORKFLOWS.turn}'`,
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(state === undefined ? [] : [stateFilter(state)]),
    ...(agent === undefined ? [] : [`${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`]),
    ...factsIn(metadata).map((fact) => `${SEARCH_ATTRIBUTES.metadata} = ${quoted(fact)}`),
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

/**
 * Runs of turns, and of other workflows that gate calls, newest first. A turn that continued as new or was reset has
 * several; all of them are listed. Works with every worker down.
 */
export async function* listRuns(context: ClientContext, query: RunQuery): AsyncGenerator<RunSummary> {
  try {
    // Without a deadline over all: a namespace may have a million runs, and the SDK asks page by page.
    for await (const info of context.lister.workflow.list({ query: runQuery(query), pageSize: LIST_PAGE })) {
      const { workflowId: turn, runId, startTime, status } = info;
      yield { turn, runId, startedAt: startTime.toISOString(), open: status.name === 'RUNNING' };
    }
  } catch (error) {
    throw toCountersignError(error, 'listing runs');
  }
}

function runQuery({ query, turn, agent, since, until }: RunQuery): string {
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
function activeSince(since: string): string {
  return `(ExecutionStatus = 'Running' OR CloseTime >= '${since}')`;
}

/**
 * Turns in one answer of a list, at most: each comes with its memo and search attributes of some 5 KiB, or 20 KiB for other
 * workflows that gate calls, and a connection takes 4 MiB by default.
 */
export const LIST_PAGE = 200;

/** Text as a string of a visibility query. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
