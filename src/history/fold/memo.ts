import { gatedMemo, MEMO } from '../../contract/names';
import type { OpenItem, OpenMemo } from '../../contract/turn';
import type { EventOf } from '../decode/events';
import { defined } from '../defined';
import type { EventHead, TurnEvent } from '../events';
import { summaryOf } from '../summary';
import { closeByProof } from './closing';
import { is } from './guards';
import { ENDINGS } from '../../contract/endings';
import { textAt } from './said';
import { judgeSignals } from './signals';
import { headOf, type CallFold, type FoldState } from './state';
import { newCall, proposedOf } from './think';

/** What the workflow tells outside: what waits for a person, and its verdicts on signals. */
export function memoChanged(state: FoldState, event: EventOf<'memo'>): TurnEvent[] {
  const { fields } = event;
  const gated = Object.entries(fields).flatMap(([key, value]) => gateChanged(state, event, { key, value }));
  const opened = Object.hasOwn(fields, MEMO.open) ? openChanged(state, event, fields[MEMO.open]) : [];
  const verdicts = fields[MEMO.verdicts];
  const told = [...gated, ...opened];
  return is.verdicts(verdicts) ? [...told, ...judgeSignals(state, event, verdicts)] : told;
}

/** A call that somebody's own workflow gates; the memo `open` asks for it next. */
function gateChanged(
  state: FoldState,
  head: EventHead,
  { key, value }: { key: string; value: unknown },
): TurnEvent[] {
  if (!is.gatedCall(value) || key !== gatedMemo(value.callId)) return [];
  state.calls.set(value.callId, newCall(value));
  return [{ type: 'call_prepared', ...headOf(head), call: proposedOf(value) }];
}

/** The memo `open`, ready to be asked. */
interface Open {
  key: string;
  items: Map<string, OpenItem>;
  /** More wait than it names. */
  cut: boolean;
}

const NOTHING: OpenMemo = { key: '', count: 0, items: [] };

/** Requests and doubts exist from here on: the task that wrote this is the one that can take decisions on them. */
function openChanged(state: FoldState, head: EventHead, value: unknown): TurnEvent[] {
  const memo = is.openMemo(value) ? value : NOTHING;
  const items = new Map(memo.items.map((item) => [item.callId, item]));
  const open: Open = { key: memo.key, items, cut: memo.count > items.size };
  return [...state.calls.values()].flatMap((held) => {
    if (held.phase === 'proposed' || held.phase === 'replanning')
      return openRequest(state, head, { held, open });
    if (held.phase === 'requested') return leaveRequest(state, head, { held, open });
    return held.phase === 'lost' ? lookIntoDoubt(state, head, { held, open }) : [];
  });
}

interface Looked {
  held: CallFold;
  open: Open;
}

function openRequest(state: FoldState, head: EventHead, { held, open }: Looked): TurnEvent[] {
  const { call } = held;
  if (call.kind !== 'ask') return [];
  const item = open.items.get(call.callId);
  const unnamed = open.cut && (held.phase === 'proposed' || held.planned === true);
  if (item === undefined && !unnamed) return [];
  held.phase = 'requested';
  held.callKey = `${open.key}:${call.callId}`;
  const { requestExpiresMs, timeoutMs, safety, effect, noBatch } = call.settings;
  const computed = requestExpiresMs === null ? null : state.taskTime + requestExpiresMs;
  held.deadline = item === undefined ? computed : item.deadline === null ? null : Date.parse(item.deadline);
  const proposed = held.original ?? call.proposed;
  const { callId, tool, argsDigest, preview, policyReason } = call;
  return [
    {
      type: 'request_opened',
      ...headOf(head),
      ...{ callId, callKey: held.callKey, tool, safety, effect, arguments: held.effective, argsDigest },
      deadline: held.deadline === null ? null : new Date(held.deadline).toISOString(),
      summary: item?.summary ?? summaryOf({ callId, tool, arguments: held.effective }),
      ...defined({ proposed, preview, policyReason, noBatch, schema: held.schema, timeoutMs }),
    },
  ];
}

/** A request that is not open any more and that nobody decided: its time was over, or the turn was cancelled. */
function leaveRequest(state: FoldState, head: EventHead, { held, open }: Looked): TurnEvent[] {
  const { callId } = held.call;
  if (open.items.has(callId)) return [];
  if (held.deadline !== null && held.deadline <= state.taskTime) {
    held.phase = 'closed';
    held.fate = ENDINGS.expired;
    return [{ type: 'request_expired', ...headOf(head), callId }];
  }
  if (!open.cut && !isBeingJudged(state, callId)) {
    held.phase = 'closed';
    held.fate = ENDINGS.neverStarted;
  }
  return [];
}

function lookIntoDoubt(state: FoldState, head: EventHead, { held, open }: Looked): TurnEvent[] {
  const { callId, tool } = held.call;
  const item = open.items.get(callId);
  if (item === undefined && !open.cut) {
    return held.proof === undefined || isBeingJudged(state, callId)
      ? []
      : closeByProof(head, held, held.proof);
  }
  if (held.asked || held.doubt === undefined) return [];
  held.asked = true;
  held.callKey = `${open.key}:${callId}`;
  const { message, partial } = held.doubt;
  const summary = item?.summary ?? summaryOf({ callId, tool, arguments: held.effective });
  const told = { callId, callKey: held.callKey, tool, message, summary, ...defined({ partial }) };
  return [{ type: 'in_doubt', ...headOf(head), ...told }];
}

/** Whether a signal on this call gets its verdict in this very task: then that tells what became of it. */
function isBeingJudged(state: FoldState, callId: string): boolean {
  return state.signals.some((signal) => textAt(signal.input, 'callId') === callId);
}
