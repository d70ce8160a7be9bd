import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { votingUnder } from '../../authority/votes/open-votes';
import { CountersignError } from '../../contract/errors';
import { authorityOn } from '../../history/labels';
import { ASK_MS, toCountersignError } from '../../history/server-errors';
import { callKey, MEMO, SEARCH_ATTRIBUTES } from '../../contract/names';
import { type OpenItem, openItemOf } from '../../contract/open-item';
import type { OpenMemo } from '../../contract/turn';
import type { RequestOpened } from '../../history/events';
import { is } from '../../history/fold/guards';
import { isLineage } from '../../contract/payloads';
import { readTimeline } from '../../history/read';
import { viewOf } from '../../history/view';
import { type CallView, type TurnView, waitingEvent } from '../../history/view-types';
import type { ClientContext } from '../context';
import { callersIn, quoted } from '../list';
import type { InboxQuery } from '../requests';
import type { InboxItem } from '../types';
import { waitsFor } from '../../authority/votes/waits-for';

/** The conditions for items of the inbox. */
export type WaitingFilter = Omit<InboxQuery, 'limit'>;

/** One turn as visibility lists it. */
export interface ListedTurn {
  id: string;
  agent: string;
  memo: Record<string, unknown>;
  /** When the run started, in ms. */
  startedAt: number;
  /** The earliest deadline, in ms. Undefined if the turn has no deadline. */
  deadline: number | undefined;
}

/**
 * The visibility query of a filter. A request that is older than a moment is in a run that started before the moment.
 */
export function waitingQueryOf({ tool, agent, olderThanMs }: WaitingFilter): string {
  const parts = [
    `ExecutionStatus = 'Running'`,
    `${SEARCH_ATTRIBUTES.pending} > 0`,
    ...(olderThanMs === undefined ? [] : [`StartTime < '${before(olderThanMs)}'`]),
    ...(tool === undefined ? [] : [`${SEARCH_ATTRIBUTES.tools} = ${quoted(tool)}`]),
    ...(agent === undefined ? [] : [`${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`]),
  ];
  return parts.join(' AND ');
}

/**
 * One turn as the server has it now. Undefined if it would not be listed: nothing waits in it, or it is not there.
 */
export async function waitingTurn(context: ClientContext, turn: string): Promise<ListedTurn | undefined> {
  const { reader } = context;
  try {
    const { raw: _raw, ...info } = await context.connection.withDeadline(Date.now() + ASK_MS, () =>
      reader.workflow.getHandle(turn).describe(),
    );
    const [pending] = info.searchAttributes[SEARCH_ATTRIBUTES.pending] ?? [];
    return info.status.name === 'RUNNING' && Number(pending ?? 0) > 0 ? listedTurn(info) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw toCountersignError(error, `reading turn ${turn}`);
  }
}

/** Whether one item matches: a turn that matches may also have items that do not. */
export function isWanted(item: InboxItem, { tool, agent, olderThanMs, whom }: WaitingFilter): boolean {
  if (tool !== undefined && item.tool !== tool) return false;
  if (agent !== undefined && item.agent !== agent) return false;
  if (whom !== undefined && !waitsFor(whom(), item, Date.now())) return false;
  return olderThanMs === undefined || item.since < before(olderThanMs);
}

function before(olderThanMs: number) {
  return new Date(Date.now() - olderThanMs).toISOString();
}

/** What waits in a turn. Its history is read only if more is open than its memo names. */
export async function itemsOf(context: ClientContext, turn: ListedTurn): Promise<InboxItem[]> {
  const open = turn.memo[MEMO.open];
  if (!is.openMemo(open)) return refuseUnread(context, turn.id);
  const prompt = turn.memo[MEMO.prompt];
  const lineage = turn.memo[MEMO.lineage];
  const session = turn.memo[MEMO.session];
  const head = {
    turn: turn.id,
    agent: turn.agent,
    prompt: typeof prompt === 'string' ? prompt : '',
    lineage: isLineage(lineage) ? lineage : undefined,
    session: typeof session === 'string' ? session : undefined,
    callers: callersIn(turn.memo, false),
    by: open.by,
  };
  const items = isCut(turn) ? await allOpen(context, turn.id, open) : open.items;
  return items.map((item) => ({ ...item, ...head, callKey: callKey(open.key, item.callId) }));
}

/** Whether more is open in a turn than its memo names. */
export function isCut({ memo }: ListedTurn): boolean {
  const open = memo[MEMO.open];
  return is.openMemo(open) && open.count > open.items.length;
}

/**
 * Handles a turn in which something waits and whose memo cannot be read. A missing key is an error here, because with
 * the key the user could decide. A payload that was tampered with is left out.
 *
 * @throws CountersignError `key_missing`.
 */
async function refuseUnread(context: ClientContext, turn: string): Promise<InboxItem[]> {
  try {
    await readTimeline(context.source, turn);
  } catch (error) {
    if (!(error instanceof CountersignError && error.code === 'payload_refused')) throw error;
  }
  return [];
}

/** More is open than the memo has room for, so history is read. */
async function allOpen(context: ClientContext, turn: string, open: OpenMemo): Promise<OpenItem[]> {
  const items = openItems(viewOf(await readTimeline(context.source, turn)));
  return items.length > 0 ? items : open.items;
}

/** The open items of a turn, from its history, in the model's order. */
export function openItems({ calls }: TurnView): OpenItem[] {
  return calls.flatMap((call) => {
    const open = waitingEvent(call);
    if (open === undefined) return [];
    if (open.type === 'request_opened') return [requestItem(call, open)];
    const { callId, tool, summary, at: since } = open;
    if (open.type === 'question_opened')
      return [openItemOf({ callId, kind: 'question', tool, summary, since, deadline: open.deadline })];
    const voting = votingOn(call);
    return [openItemOf({ callId, kind: 'in_doubt', tool, summary, since, deadline: null, voting })];
  });
}

function requestItem(call: CallView, request: RequestOpened): OpenItem {
  const { callId, tool, summary, seenDigest, note, at, since = at, deadline } = request;
  const voting = votingOn(call);
  return openItemOf({ callId, kind: 'request', tool, summary, seenDigest, note, voting, since, deadline });
}

function votingOn(call: CallView): OpenItem['voting'] {
  const authority = authorityOn(call);
  return authority && votingUnder(authority, call.votes, Date.now());
}

/** The part of a listed turn that we need. */
export function listedTurn(info: Omit<WorkflowExecutionInfo, 'raw'>): ListedTurn {
  const { workflowId, searchAttributes, startTime, memo = {} } = info;
  const [agent] = searchAttributes[SEARCH_ATTRIBUTES.agent] ?? [];
  const [deadline] = searchAttributes[SEARCH_ATTRIBUTES.deadline] ?? [];
  const at = deadline instanceof Date ? deadline.getTime() : undefined;
  return { id: workflowId, agent: String(agent ?? ''), memo, startedAt: startTime.getTime(), deadline: at };
}
