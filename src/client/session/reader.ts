import type { WorkflowExecutionInfo } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { MEMO, WORKFLOWS } from '../../contract/names';
import { CountersignError } from '../../contract/errors';
import type { SessionMemo } from '../../contract/session';
import { Payloads } from '../../history/decode/payloads';
import { sessionIs } from '../../history/session/guards';
import { describeTurn } from '../../history/read';
import { ask } from '../../history/server-errors';
import type { SessionEvent } from '../../history/session/events';
import { readSession } from '../../history/session/read';
import { sessionViewOf, type SessionView } from '../../history/session/view';
import type { ClientContext } from '../context';
import { afterEdge, MOST_LOOKED, readEdge, readPage, writeEdge } from '../list-page';
import type { SessionNow, SessionsPage, SessionsQuery, SessionSummary } from './types';

const { WorkflowExecutionStatus } = temporal.api.enums.v1;

/** The error for an id that no session has. */
export function sessionNotFound(session: string): CountersignError {
  const hint = 'countersign list --sessions shows the sessions there are; to start one, name its agent';
  return new CountersignError('not_found', `there is no session ${session}`, {
    hint,
    data: { session },
  });
}

/** Whether there is a session with exactly this id, open or closed. */
export async function isSession(context: ClientContext, session: string): Promise<boolean> {
  const info = (await describeTurn(context, session))?.workflowExecutionInfo;
  return info?.type?.name === WORKFLOWS.session;
}

/** The messages of a session, its turns and their answers so far. */
export async function viewSession(context: ClientContext, session: string): Promise<SessionView> {
  if (!(await isSession(context, session))) throw sessionNotFound(session);
  const events: SessionEvent[] = [];
  for await (const event of readSession(context.source, session)) events.push(event);
  const view = sessionViewOf(events);
  if (view === undefined) throw sessionNotFound(session);
  return view;
}

/** The present state of a session, from its memo. */
export async function stateOf(context: ClientContext, session: string): Promise<SessionNow> {
  const info = (await describeTurn(context, session))?.workflowExecutionInfo;
  if (info?.type?.name !== WORKFLOWS.session) throw sessionNotFound(session);
  const owner = { type: 'workflow', namespace: context.namespace, workflowId: session } as const;
  const payloads = new Payloads(context.client.options.loadedDataConverter, owner);
  const memo = await payloads.map(info.memo?.fields);
  const now = { session, runId: info.execution?.runId ?? '', ...memoIn(memo) };
  if (info.status === WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING) return now;
  // A session that was terminated could not write its last state.
  const { turn: _turn, ...closed } = now;
  return { ...closed, state: 'closed' };
}

function memoIn(memo: Record<string, unknown> = {}): SessionMemo {
  const now = memo[MEMO.session];
  return sessionIs.memo(now) ? now : { agent: '', state: 'idle', turns: 0, waiting: 0, text: '' };
}

/** A page of sessions: open sessions first, then the sessions that ended last. Works with every worker down. */
export async function listSessions(
  context: ClientContext,
  { limit = 50, agent, agents, open, older }: SessionsQuery,
): Promise<SessionsPage> {
  const after = older === undefined ? undefined : readEdge(older);
  const parts = [`WorkflowType = '${WORKFLOWS.session}'`, `ExecutionStatus != 'ContinuedAsNew'`];
  if (open === true) parts.push(`ExecutionStatus = 'Running'`);
  if (after !== undefined) parts.push(afterEdge(after));
  const infos = context.lister.workflow.list({ query: parts.join(' AND ') });
  const { found, edge } = await ask(context, 'listing sessions', () =>
    readPage(summariesIn(infos), {
      limit,
      most: MOST_LOOKED,
      after,
      idOf: ({ session }) => session,
      isSeen: (one) => (agent === undefined || one.agent === agent) && agents?.includes(one.agent) !== false,
    }),
  );
  return { sessions: found, older: edge === undefined ? null : writeEdge(edge) };
}

async function* summariesIn(infos: AsyncIterable<WorkflowExecutionInfo>): AsyncGenerator<SessionSummary> {
  for await (const info of infos) yield summaryOf(info);
}

function summaryOf({ workflowId, runId, memo, status, startTime, closeTime }: WorkflowExecutionInfo) {
  const now = memoIn(memo);
  return {
    session: workflowId,
    runId,
    ...now,
    state: status.name === 'RUNNING' ? now.state : 'closed',
    startedAt: startTime.toISOString(),
    endedAt: closeTime?.toISOString() ?? null,
  } satisfies SessionSummary;
}
