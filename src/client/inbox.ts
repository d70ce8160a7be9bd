import { CountersignError } from '../contract/errors';
import { MEMO, NEVER, SEARCH_ATTRIBUTES } from '../contract/names';
import type { OpenItem, OpenMemo } from '../contract/turn';
import { is } from '../history/fold/guards';
import { readTimeline } from '../history/read';
import { viewOf, type TurnView } from '../history/view';
import type { Desk } from './desk';
import { earliestTurns, type ListedTurn } from './deadline-windows';
import { quoted } from './query';
import type { InboxItem, InboxQuery } from './types';

const LIMIT = 100;

/**
 * Requests and calls in doubt of all turns and of all other workflows that gate calls, earliest deadline first; what never expires comes last, oldest first.
 * Read from visibility alone, so it works with every worker down; only where a turn has more open than its memo
 * names is its history read.
 */
export async function readInbox(desk: Desk, query: InboxQuery): Promise<InboxItem[]> {
  const limit = query.limit ?? LIMIT;
  const { tool, olderThanMs } = query;
  const before = olderThanMs === undefined ? undefined : new Date(Date.now() - olderThanMs).toISOString();
  const turns = await earliestTurns(desk, filterOf(query, before), limit);
  const items = await Promise.all(turns.map((turn) => itemsOf(desk, turn)));
  const wanted = items.flat().filter((item) => {
    return (tool === undefined || item.tool === tool) && (before === undefined || item.since < before);
  });
  return wanted.sort(byDeadline).slice(0, limit);
}

/** `before`: what waits since then began in a run that was there already. */
function filterOf({ tool, agent }: InboxQuery, before: string | undefined): string {
  const parts = [
    `ExecutionStatus = 'Running'`,
    `${SEARCH_ATTRIBUTES.pending} > 0`,
    ...(before === undefined ? [] : [`StartTime < '${before}'`]),
    ...(tool === undefined ? [] : [`${SEARCH_ATTRIBUTES.tools} = ${quoted(tool)}`]),
    ...(agent === undefined ? [] : [`${SEARCH_ATTRIBUTES.agent} = ${quoted(agent)}`]),
  ];
  return parts.join(' AND ');
}

async function itemsOf(desk: Desk, turn: ListedTurn): Promise<InboxItem[]> {
  const open = turn.memo[MEMO.open];
  if (!is.openMemo(open)) return refuseUnread(desk, turn.id);
  const prompt = turn.memo[MEMO.prompt];
  const head = { turn: turn.id, agent: turn.agent, prompt: typeof prompt === 'string' ? prompt : '' };
  const items = open.count > open.items.length ? await allOpen(desk, turn.id, open) : open.items;
  return items.map((item) => ({ ...item, ...head, callKey: `${open.key}:${item.callId}` }));
}

/**
 * Something waits and its memo cannot be read. Where that is for want of a key, somebody here would decide if they had it,
 * so they are told; what was tampered with is nobody's.
 *
 * @throws CountersignError `key_missing`.
 */
async function refuseUnread(desk: Desk, turn: string): Promise<InboxItem[]> {
  try {
    await readTimeline(desk.source, turn);
  } catch (error) {
    if (!(error instanceof CountersignError && error.code === 'payload_refused')) throw error;
  }
  return [];
}

/** More is open than the memo has room for; the record has all of it. */
async function allOpen(desk: Desk, turn: string, open: OpenMemo): Promise<OpenItem[]> {
  const items = openItems(viewOf(await readTimeline(desk.source, turn)));
  return items.length > 0 ? items : open.items;
}

/** What waits in a turn, from its record. */
export function openItems({ requests, inDoubt }: TurnView): OpenItem[] {
  return [
    ...requests.map(({ callId, tool, summary, at, deadline }) => {
      return { callId, kind: 'request' as const, tool, summary, since: at, deadline };
    }),
    ...inDoubt.map(({ callId, tool, summary, at }) => {
      return { callId, kind: 'in_doubt' as const, tool, summary, since: at, deadline: null };
    }),
  ];
}

function byDeadline(a: InboxItem, b: InboxItem): number {
  const [first, second] = [a, b].map((item) => `${item.deadline ?? NEVER} ${item.since} ${item.turn}`);
  return (first ?? '') < (second ?? '') ? -1 : 1;
}
