import type { JsonObject } from '../../contract/json';
import type { Preview } from '../../contract/plan';
import { previewDigests, seenDigestOf, digestJson } from '../../contract/digest';
import { callKey, gateMemoKey, MEMO } from '../../contract/names';
import type { OpenItem, OpenMemo } from '../../contract/turn';
import type { EventOf } from '../decode/events';
import type { EventHeader, TurnEvent } from '../events';
import { callSummary } from '../../contract/text/call-summary';
import { closeByProof, endAsked, unhandledResult } from './results';
import { is } from './guards';
import { isRequestedCall, readPrepareOutput } from '../../contract/payloads';
import {
  CLOSING_CAUSES,
  type ClosingCause,
  ENDINGS,
  nobodyHad,
  unprepared,
  unresolved,
} from '../../contract/call-texts';
import { questionOf, replan, restore } from './verdicts';
import { judgeSignals } from './messages';
import type { Question } from '../../contract/question';
import { type CallFold, endCall, eventHeader, type FoldState } from './state';
import { endUnrun, newCall, proposedOf } from './think';
import { type PreparedCall, isValidCall, timeToDecide, type ValidCall } from '../../contract/call';
import { askFirst } from '../../contract/fork';
import { rootOf } from '../decode/failure';
import { readAuthority } from '../../contract/authority';
import { sha256 } from '../sha256';

/**
 * A memo was written. In the memo, the workflow publishes the calls that wait for a person, and its verdicts on
 * signals.
 */
export function memoChanged(state: FoldState, event: EventOf<'memo'>): TurnEvent[] {
  const { fields } = event;
  const gated = Object.entries(fields).flatMap(([key, value]) => gateChanged(state, event, { key, value }));
  const closed = fields[MEMO.closed];
  const ended = is.closedMemo(closed) ? callsClosed(state, event, closed) : [];
  const opened = Object.hasOwn(fields, MEMO.open) ? openChanged(state, event, fields[MEMO.open]) : [];
  const verdicts = fields[MEMO.verdicts];
  const made = [...gated, ...ended, ...opened];
  return is.verdicts(verdicts) ? [...made, ...judgeSignals(state, event, verdicts)] : made;
}

/**
 * The memo of a call that a user's workflow gates, or of a question of a running call. The memo `open` then asks for
 * it.
 */
function gateChanged(
  state: FoldState,
  head: EventHeader,
  { key, value }: { key: string; value: unknown },
): TurnEvent[] {
  if (!isRequestedCall(value) || key !== gateMemoKey(value.callId)) return [];
  const held = state.calls.get(value.callId);
  if (held?.phase === 'replanning') replan(held, value);
  else state.calls.set(value.callId, newCall(value));
  return [{ type: 'call_prepared', ...eventHeader(head), call: proposedOf(value) }];
}

/** The memo `open`, with its items by call. */
interface Open {
  key: string;
  items: Map<string, OpenItem>;
  /** More calls wait than the memo names. */
  cut: boolean;
}

const NOTHING: OpenMemo = { key: '', count: 0, items: [] };

/**
 * Takes the memo `open`. From now on its requests and doubts exist, because the workflow task that wrote the memo is
 * the first that can take decisions on them.
 */
function openChanged(state: FoldState, head: EventHeader, value: unknown): TurnEvent[] {
  const memo = is.openMemo(value) ? value : NOTHING;
  const items = new Map(memo.items.map((item) => [item.callId, item]));
  const open: Open = { key: memo.key, items, cut: memo.count > items.size };
  return [...state.calls.values()].flatMap((held) => {
    if (held.phase === 'proposed' || held.phase === 'replanning')
      return openRequest(state, head, { held, open });
    if (held.phase === 'requested') return escalated(head, held, open);
    return held.phase === 'lost' ? openDoubt(head, held, open) : [];
  });
}

function escalated(head: EventHeader, held: CallFold, { items }: Open): TurnEvent[] {
  const { call } = held;
  const to = isValidCall(call) ? readAuthority(call.authority)?.rule.escalate?.to : undefined;
  if (to === undefined || held.isEscalated === true) return [];
  if (items.get(call.callId)?.voting?.escalated !== true) return [];
  held.isEscalated = true;
  return [{ type: 'request_escalated', ...eventHeader(head), callId: call.callId, to: [...to] }];
}

interface CallInMemo {
  held: CallFold;
  open: Open;
}

function openRequest(state: FoldState, head: EventHeader, { held, open }: CallInMemo): TurnEvent[] {
  const { call } = held;
  const question = questionOf(held);
  if (question !== undefined) return openQuestion(state, head, { held, open, question });
  if (call.kind !== 'ask') return [];
  const item = open.items.get(call.callId);
  // The call starts by a grant, unless its worker finds that the grant does not allow it.
  if (item === undefined && held.phase === 'proposed' && call.grant !== undefined) return [];
  const unnamed = open.cut && (held.phase === 'proposed' || held.planned === true);
  if (item === undefined && !unnamed) return [];
  held.phase = 'requested';
  held.callKey = callKey(open.key, call.callId);
  const { timeoutMs, safety, effect, noBatch, grants, server, gate } = call.settings;
  const unowned = gate !== undefined && gate.activity === undefined ? (true as const) : undefined;
  const since = held.isKept === true ? held.since : undefined;
  if (item !== undefined || since === undefined) held.deadline = deadlineIn(state, item, call);
  held.since = since ?? head.at;
  delete held.isKept;
  const proposed = held.original ?? call.proposed;
  const { callId, tool, toolDigest, preview, policyReason, notes } = call;
  return [
    {
      type: 'request_opened',
      ...eventHeader(head),
      callId,
      callKey: held.callKey,
      tool,
      safety,
      effect,
      arguments: held.effective,
      seenDigest: seenDigestIn(held.effective, preview),
      toolDigest,
      deadline: held.deadline === null ? null : new Date(held.deadline).toISOString(),
      summary: lineOf(held, item),
      proposed,
      preview,
      policyReason,
      notes,
      authority: readAuthority(call.authority),
      noBatch,
      grants,
      server,
      schema: held.schema,
      timeoutMs: unowned === undefined ? timeoutMs : undefined,
      unowned,
      byGate: gate?.activity === undefined ? undefined : (true as const),
      note: held.note ?? item?.note,
      since,
      edit: held.edit,
    },
  ];
}

function openQuestion(
  state: FoldState,
  head: EventHeader,
  { held, open, question }: CallInMemo & { question: Question },
): TurnEvent[] {
  const { call } = held;
  const item = open.items.get(call.callId);
  if (!isValidCall(call) || (item === undefined && !open.cut)) return [];
  held.phase = 'requested';
  held.callKey = callKey(open.key, call.callId);
  held.deadline = deadlineIn(state, item, call);
  const { callId, tool } = call;
  return [
    {
      type: 'question_opened',
      ...eventHeader(head),
      callId,
      callKey: held.callKey,
      tool,
      question,
      deadline: held.deadline === null ? null : new Date(held.deadline).toISOString(),
      summary: lineOf(held, item),
    },
  ];
}

/** The line in the memo. If the memo does not name the call, the line that the workflow makes. */
function lineOf({ call, effective, note }: CallFold, item: OpenItem | undefined): string {
  if (item !== undefined) return item.summary;
  const { callId, tool } = call;
  const { question, preview = question && { text: question.text } } = isValidCall(call) ? call : {};
  return callSummary({ callId, tool, arguments: effective, note, preview });
}

/**
 * The deadline in the memo. If the memo does not name the call, the deadline by the call's settings and its rule.
 * Workflow time in ms.
 */
function deadlineIn(state: FoldState, item: OpenItem | undefined, call: ValidCall): number | null {
  if (item !== undefined) return item.deadline === null ? null : Date.parse(item.deadline);
  const { settings } = call;
  const expiresMs = timeToDecide({ settings, authority: readAuthority(call.authority) });
  return expiresMs === null ? null : state.taskTime + expiresMs;
}

/**
 * The digest of the request that is shown. It is made anew, because a decision is bound to what a person could read, so
 * recorded digests are not trusted.
 */
function seenDigestIn(args: JsonObject, preview: Preview | undefined): string {
  try {
    const argsDigest = digestJson(args, sha256);
    return seenDigestOf({ argsDigest, ...(preview && previewDigests(preview, sha256)) }, sha256);
  } catch {
    // Arguments that cannot be digested do not come from a worker. No decision can approve this digest.
    return '';
  }
}

/** The workflow closed calls by itself. The memo says why. */
function callsClosed(state: FoldState, head: EventHeader, memo: Record<string, string[]>): TurnEvent[] {
  return CLOSING_CAUSES.flatMap((cause) =>
    (memo[cause] ?? []).flatMap((callId) => {
      const held = state.calls.get(callId);
      return held === undefined || held.phase === 'ended' ? [] : callClosed(state, head, { held, cause });
    }),
  );
}

function callClosed(
  state: FoldState,
  head: EventHeader,
  { held, cause }: { held: CallFold; cause: ClosingCause },
): TurnEvent[] {
  if (cause === 'proven') return held.proof === undefined ? [] : closeByProof(head, held, held.proof);
  held.phase = 'closed';
  held.closing = closingOf(state, held, cause);
  const ended = endAsked(head, held);
  if (cause !== 'expired' && cause !== 'unanswered') return ended;
  const question = cause === 'unanswered' ? { question: true as const } : {};
  return [{ type: 'request_expired', ...eventHeader(head), callId: held.call.callId, ...question }, ...ended];
}

function closingOf({ abandoned = {} }: FoldState, held: CallFold, cause: Exclude<ClosingCause, 'proven'>) {
  if (cause === 'absent') return nobodyHad({ notHere: held.absent ?? '' });
  return cause === 'abandoned' ? unresolved(abandoned) : ENDINGS[cause];
}

function openDoubt(head: EventHeader, held: CallFold, open: Open): TurnEvent[] {
  const { callId, tool } = held.call;
  const item = open.items.get(callId);
  if ((item === undefined && !open.cut) || held.asked || held.doubt === undefined) return [];
  held.asked = true;
  held.callKey = callKey(open.key, callId);
  const { message, partial, progress } = held.doubt;
  const made = { callId, callKey: held.callKey, tool, message, summary: lineOf(held, item) };
  return [{ type: 'in_doubt', ...eventHeader(head), ...made, partial, progress }];
}

/** A call was prepared on the queue of its tool, or anew with a person's arguments. */
export function prepareCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  callId: string,
): TurnEvent[] {
  const held = state.calls.get(callId);
  if (held === undefined) return [];
  const output = readPrepareOutput(event.result, held.call);
  if (output === undefined) return closeUnprepared(event, held, 'what was prepared cannot be read');
  const call = preparedAs(held.call, output.call);
  const { schema } = output;
  const made: TurnEvent = { type: 'call_prepared', ...eventHeader(event), call: proposedOf(call) };
  if (held.phase === 'replanning') {
    replan(held, call);
    return [made];
  }
  state.calls.set(callId, newCall(call, schema));
  return [made, ...endUnrun(state, event)];
}

/**
 * The call after its preparation, as in the workflow. If another queue has the tool, the call waits for its preparation
 * there. If another queue prepared it, `askFirst` may say that a person sees it first. Otherwise it is as prepared.
 */
function preparedAs(asked: PreparedCall, prepared: PreparedCall): PreparedCall {
  if (asked.kind !== 'remote') return prepared;
  return prepared.kind === 'remote' ? { ...asked, taskQueue: prepared.taskQueue } : askFirst(asked, prepared);
}

export function prepareFailed(
  state: FoldState,
  event: EventOf<'activity_failed'>,
  callId: string,
): TurnEvent[] {
  const held = state.calls.get(callId);
  if (held === undefined) return [];
  const root = rootOf(event.failure);
  if (root.kind === 'canceled') {
    held.closing = ENDINGS.neverStarted;
    return [];
  }
  return closeUnprepared(event, held, root.message);
}

function closeUnprepared(head: EventHeader, held: CallFold, why: string): TurnEvent[] {
  const result = unhandledResult(held, unprepared(held.call.tool, why), head.at);
  if (held.phase === 'replanning') {
    restore(held, result);
    return [];
  }
  return endCall(head, held, { result, durationMs: null, attempts: 0, origin: 'turn' });
}
