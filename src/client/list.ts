import { mayBeId } from './start-turn';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import { isObject } from '../contract/json';
import { isSeenBy, UNKNOWN_AGENT } from '../authority/rules/permits';
import { askedBy, facetMark, MEMO, SCHEDULED_BY, SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { factsIn } from '../contract/turn';
import { CALL_FACETS, RESULT_STATUSES, TURN_STATES } from '../contract/turn-states';
import type { ClientContext } from './context';
import { afterEdge, type Edge, MOST_LOOKED, readEdge, readPage, writeEdge } from './list-page';
import type { ListQuery, RunQuery, RunSummary, TurnsPage, TurnsQuery, TurnSummary } from './types';
import { isLineage } from '../contract/payloads';
import { guard } from '../contract/schema/message';
import { anything, object, text } from '../contract/schema/shape';
import { toCountersignError, ask } from '../history/server-errors';

const LIMIT = 50;
const TURNS_LIMIT = 200;

/**
 * Turns and other workflows that gate calls, newest first. One with several runs is listed once, by its newest run. Works
 * with every worker down.
 */
export async function listTurns(context: ClientContext, query: ListQuery): Promise<TurnSummary[]> {
  const { limit = LIMIT, search, agents } = query;
  const all = turnQuery(query);
  const wish = { limit, agents };
  if (search === undefined) return (await collectTurns(context, all, wish)).turns;
  const startsSo = `WorkflowId STARTS_WITH ${quoted(search)}`;
  const byId = mayBeId(search) ? (await collectTurns(context, `${all} AND ${startsSo}`, wish)).turns : [];
  const byPrompt = await collectTurns(context, all, { ...wish, text: search, most: MOST_LOOKED });
  const found = new Map([...byId, ...byPrompt.turns].map((turn) => [turn.turn, turn]));
  return [...found.values()].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1)).slice(0, limit);
}

/** A page of the turns that match: open turns first, then the turns that ended last. Works with every worker down. */
export async function listTurnsPage(context: ClientContext, query: TurnsQuery): Promise<TurnsPage> {
  const { limit = TURNS_LIMIT, text, older, agents } = query;
  const after = older === undefined ? undefined : readEdge(older);
  const all = [turnQuery(query), ...(after === undefined ? [] : [afterEdge(after)])].join(' AND ');
  const most = text === undefined && agents === undefined ? undefined : MOST_LOOKED;
  const wish = { limit, text, agents, most, after };
  const { turns, looked, edge } = await collectTurns(context, all, wish);
  const searched = text === undefined ? undefined : { turns: looked, isAll: edge === undefined };
  return { turns, older: edge === undefined ? null : writeEdge(edge), searched };
}

/** Which of the turns that a query lists are collected. */
interface CollectWish {
  limit: number;
  /** Text that must occur in the id, the agent or the beginning of the prompt. */
  text?: string;
  /** Where the list begins. */
  after?: Edge;
  /**
   * Collects only turns of these agents. The agents of all turns that led to a turn have to be known, and among these
   * agents.
   */
  agents?: readonly string[];
  /** The most turns that are looked at, also if they are not collected. */
  most?: number;
}

interface Collected {
  turns: TurnSummary[];
  /** The number of turns that were looked at, without the turns that the person may not see. */
  looked: number;
  /** Where the next page begins. Undefined if there is no further page. */
  edge: Edge | undefined;
}

async function collectTurns(context: ClientContext, query: string, wish: CollectWish): Promise<Collected> {
  const { limit, text, after, agents } = wish;
  if (agents?.length === 0) return { turns: [], looked: 0, edge: undefined };
  const most = text === undefined ? limit + (after?.ids.length ?? 0) + 1 : LIST_PAGE;
  const collect = (pageSize: number) =>
    ask(context, 'listing turns', () => collectFrom(listPages(context.lister, query, pageSize), wish));
  try {
    return await collect(Math.min(most, LIST_PAGE));
  } catch (error) {
    const isTooLong = error instanceof CountersignError && error.code === 'too_large';
    if (!isTooLong || most <= SMALL_PAGE) throw error;
    return collect(SMALL_PAGE);
  }
}

async function collectFrom(
  pages: AsyncIterable<WorkflowExecutionInfo[]>,
  { limit, text = '', after, agents, most }: CollectWish,
): Promise<Collected> {
  const words = text.toLowerCase();
  const { found, ...rest } = await readPage(summariesIn(pages), {
    limit,
    most,
    after,
    idOf: ({ turn }) => turn,
    isSeen: (turn) => isSeenBy({ agents: agents ?? 'all' }, turn),
    isListed: (turn) =>
      [turn.turn, turn.agent, turn.prompt].some((text) => text.toLowerCase().includes(words)),
  });
  return { turns: found, ...rest };
}

async function* summariesIn(pages: AsyncIterable<WorkflowExecutionInfo[]>): AsyncGenerator<TurnSummary> {
  for await (const page of pages) yield* page.map(summaryOf);
}

function turnQuery(query: ListQuery & TurnsQuery) {
  const { state, agent, agents, schedule, metadata, since, from, to, id, tool, facet } = query;
  const filters = {
    state: state && stateFilter(state),
    schedule: schedule && `${SCHEDULED_BY} = ${quoted(schedule)}`,
    agent: agent && `${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`,
    agents: agents && `${SEARCH_ATTRIBUTES.agent} IN (${agents.map(quoted).join(', ')})`,
    since: since && activeSince(since),
    from: from && `StartTime >= '${from}'`,
    to: to && `StartTime < '${to}'`,
    id: id && `WorkflowId STARTS_WITH ${quoted(id)}`,
    tool: tool && `${SEARCH_ATTRIBUTES.tools} = ${quoted(askedBy(tool))}`,
    facet: facet && `${SEARCH_ATTRIBUTES.tools} = ${quoted(facetMark(facet))}`,
  };
  const ours = [OURS, `ExecutionStatus != 'ContinuedAsNew'`];
  const facts = factsIn(metadata).map((fact) => `${SEARCH_ATTRIBUTES.metadata} = ${quoted(fact)}`);
  return [...ours, ...Object.values(defined(filters)), ...facts].join(' AND ');
}

/**
 * A filter by state. What was ended from outside, or is not a turn, keeps its last attributes, so its status decides. Another
 * workflow has no state until its first request.
 */
function stateFilter(state: TurnSummary['state']) {
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
    case 'running':
      return `(${own} OR ${SEARCH_ATTRIBUTES.state} IS NULL) AND ExecutionStatus = 'Running'`;
    case 'answered':
      return `(${own} OR WorkflowType != '${WORKFLOWS.turn}') AND ExecutionStatus = 'Completed'`;
    case 'step_limit':
    case 'budget':
    case 'loop':
      return `${own} AND ExecutionStatus = 'Completed'`;
    default:
      return `${own} AND ExecutionStatus = 'Running'`;
  }
}

function summaryOf(info: WorkflowExecutionInfo): TurnSummary {
  const { [MEMO.prompt]: prompt, [MEMO.session]: session } = info.memo ?? {};
  const schedule = attribute(info, SCHEDULED_BY);
  const state = stateOf(info);
  const open = info.status.name === 'RUNNING';
  const marks: readonly unknown[] = info.searchAttributes[SEARCH_ATTRIBUTES.tools] ?? [];
  const facets = CALL_FACETS.filter((facet) => marks.includes(facetMark(facet)));
  return {
    turn: info.workflowId,
    runId: info.runId,
    agent: String(attribute(info, SEARCH_ATTRIBUTES.agent) ?? ''),
    state,
    pending: open ? Number(attribute(info, SEARCH_ATTRIBUTES.pending) ?? 0) : 0,
    prompt: typeof prompt === 'string' ? prompt : '',
    startedAt: info.startTime.toISOString(),
    endedAt: info.closeTime?.toISOString() ?? null,
    forkOf: forkIn(info.memo)?.of,
    schedule: schedule === undefined ? undefined : String(schedule),
    session: typeof session === 'string' ? session : undefined,
    callers: callersIn(info.memo, info.type === WORKFLOWS.turn),
    facets: facets.length === 0 ? undefined : facets,
  };
}

const isFork = guard(object({ of: text() }, { lineage: anything() }));

function forkIn(memo: Record<string, unknown> = {}) {
  const fork = memo[MEMO.fork];
  return isFork(fork) ? fork : undefined;
}

/**
 * The agents of the turns that led to a child turn, or to a fork of a child turn, by its memo. Undefined if no turn
 * led to it. If the memo cannot be read, the agents are not known. `isTurn`: the memo must have a prompt, as for
 * every turn.
 */
export function callersIn(memo: Record<string, unknown> = {}, isTurn = true): string[] | undefined {
  const fork = memo[MEMO.fork];
  const led = [memo[MEMO.lineage], forkIn(memo)?.lineage].filter((one) => one !== undefined);
  const isRead = (!isTurn || typeof memo[MEMO.prompt] === 'string') && (fork === undefined || isObject(fork));
  if (!isRead || !led.every(isLineage)) return [UNKNOWN_AGENT];
  const callers = [...new Set(led.flat().map(({ agent }) => agent))];
  return callers.length === 0 ? undefined : callers;
}

function stateOf(info: WorkflowExecutionInfo): TurnSummary['state'] {
  const state = attribute(info, SEARCH_ATTRIBUTES.state);
  switch (info.status.name) {
    case 'COMPLETED':
      return RESULT_STATUSES.find((one) => one === state) ?? 'answered';
    case 'TERMINATED':
      return 'terminated';
    case 'TIMED_OUT':
      return 'timed_out';
    case 'FAILED':
      return 'failed';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return TURN_STATES.find((one) => one === state) ?? 'running';
  }
}

function attribute(info: WorkflowExecutionInfo, name: string): unknown {
  return info.searchAttributes[name]?.[0];
}

/** The filter for turns, and for other workflows that gate calls. */
export const OURS = `(WorkflowType = '${WORKFLOWS.turn}' OR ${SEARCH_ATTRIBUTES.agent} IS NOT NULL)`;

/**
 * Runs of turns, and of other workflows that gate calls, newest first. A turn that continued as new or was reset has
 * several runs, and all of them are listed. Works with every worker down.
 */
export async function* listRuns(context: ClientContext, query: RunQuery): AsyncGenerator<RunSummary> {
  try {
    // There is no deadline for the whole list: a namespace may have a million runs, and the SDK asks page by page.
    for await (const info of context.lister.workflow.list({ query: runQuery(query), pageSize: SMALL_PAGE })) {
      const { workflowId: turn, runId, startTime, status } = info;
      yield { turn, runId, startedAt: startTime.toISOString(), open: status.name === 'RUNNING' };
    }
  } catch (error) {
    throw toCountersignError(error, 'listing runs');
  }
}

function runQuery({ query, turn, agent, since, until }: RunQuery) {
  if (query !== undefined) return query;
  const filters = {
    turn: turn && `WorkflowId = ${quoted(turn)}`,
    agent: agent && `${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`,
    since: since && activeSince(since),
    until: until && `StartTime < '${until}'`,
  };
  return [OURS, ...Object.values(defined(filters))].join(' AND ');
}

/** A filter for runs that are still open, or closed at that time or later. */
function activeSince(since: string) {
  return `(ExecutionStatus = 'Running' OR CloseTime >= '${since}')`;
}

/**
 * The number of turns in one page of a list: as many as a server gives. A query costs the same, however many turns it
 * returns.
 */
export const LIST_PAGE = 1_000;

/**
 * The same for a user's own connection, which accepts 4 MiB by default. Each turn comes with a memo and search
 * attributes of some 5 KiB, or of 20 KiB for other workflows that gate calls.
 */
export const SMALL_PAGE = 200;

/** The results of a query, in pages. Each page costs one query. A page that is not full is the last one. */
export async function* listPages(
  { workflow }: Client,
  query: string,
  pageSize: number,
): AsyncGenerator<WorkflowExecutionInfo[]> {
  let page: WorkflowExecutionInfo[] = [];
  for await (const info of workflow.list({ query, pageSize })) {
    page.push(info);
    if (page.length < pageSize) continue;
    yield page;
    page = [];
  }
  yield page;
}

/** Text as a quoted string in a visibility query. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
