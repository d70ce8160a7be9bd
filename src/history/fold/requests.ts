import type { JsonObject } from '../../contract/json';
import type { Preview } from '../../contract/plan';
import { previewDigests, seenDigestOf, digestJson } from '../../contract/digest';
import { callKey, gateMemoKey, MEMO } from '../../contract/names';
import type { OpenItem } from '../../contract/open-item';
import type { OpenMemo } from '../../contract/turn';
import type { EventOf } from '../decode/events';
import type { EventHeader, TurnEvent } from '../events';
import { callSummary } from '../../contract/text/call-summary';
import { closeByProof, endSettled } from './results';
import { is } from './guards';
import { isRequestedCall } from '../../contract/call-payloads';
import { readPrepareOutput } from '../../contract/payloads';
import { readGateOutput } from '../../contract/gate';
import {
  CLOSING_CAUSES,
  type ClosingCause,
  ENDINGS,
  nobodyHad,
  unprepared,
  unresolved,
} from '../../contract/call-texts';
import { judgeSignals } from './messages';
import { callHeader, endCall, happen, lifeOf, openCall, timeOf } from './lives';
import { type CallFold, eventHeader, type FoldState } from './state';
import { endUnrun, proposedOf } from './think';
import {
  type InDoubt,
  type PreparedCall,
  isValidCall,
  timeToDecide,
  type ValidCall,
} from '../../contract/call';
import { askFirst } from '../../contract/fork';
import type { PrepareOutput } from '../../contract/think';
import { rootOf } from '../decode/failure';
import type { ToolFailure } from '../../contract/result';
import { failureOf } from '../../lifecycle/results';
import { type CallState, isOpen } from '../../lifecycle/state';
import { sha256 } from '../../system/sha256';

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
  const about = fields[MEMO.prompt];
  if (typeof about === 'string') {
    state.prompt = about;
    gated.unshift({ type: 'about', ...eventHeader(event), prompt: about });
  }
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
  if (state.approvals.calls.get(value.callId)?.phase === 'preparing') prepared(state, head, value);
  else openCall(state, value);
  return [preparedEvent(state, head, value)];
}

function preparedEvent(state: FoldState, head: EventHeader, call: PreparedCall): TurnEvent {
  return { type: 'call_prepared', ...callHeader(state, head, call.callId), call: proposedOf(call) };
}

const NOTHING: OpenMemo = { key: '', count: 0, items: [] };

/**
 * Takes the memo `open`. From now on its requests and doubts exist, because the workflow task that wrote the memo is
 * the first that can take decisions on them.
 */
function openChanged(state: FoldState, head: EventHeader, value: unknown): TurnEvent[] {
  const memo = is.openMemo(value) ? value : NOTHING;
  const items = new Map(memo.items.map((item) => [item.callId, item]));
  return [...state.calls.values()].flatMap((held) => {
    const item = items.get(held.call.callId);
    // A workflow of a user makes its previews itself. That one failed is in its memo alone.
    if (item?.kind === 'request' && state.approvals.calls.get(item.callId)?.phase === 'preparing')
      closeUnprepared(state, head, held, whyUnprepared(item));
    const life = state.approvals.calls.get(held.call.callId);
    if (life === undefined) return [];
    if (life.phase === 'request' && held.shown === 'request') return escalated(state, head, { life, item });
    if (item === undefined && memo.count <= items.size) return [];
    const shown = { held, life, item, key: callKey(memo.key, held.call.callId) };
    if (isOpen(life) && held.shown !== 'request') return opened(state, head, shown);
    return life.phase === 'in_doubt' && held.shown !== 'doubt'
      ? openDoubt(state, head, shown, life.doubt)
      : [];
  });
}

function whyUnprepared({ note = '' }: OpenItem) {
  return /could not prepare this call: ([^]*?)(?:\. Nothing ran\.)?$/.exec(note)?.[1] ?? note;
}

function escalated(
  state: FoldState,
  head: EventHeader,
  { life, item }: Pick<CallInMemo, 'life' | 'item'>,
): TurnEvent[] {
  const { callId, authority } = life.call;
  const to = authority?.rule.escalate?.to;
  if (to === undefined || life.isEscalated === true || item?.voting?.escalated !== true) return [];
  happen(state, { type: 'escalated', callId });
  return [{ type: 'request_escalated', ...callHeader(state, head, callId), to: [...to] }];
}

/** A call that waits for a person. `item`: absent if more calls wait than the memo names. */
interface CallInMemo {
  held: CallFold;
  life: CallState;
  item: OpenItem | undefined;
  key: string;
}

/** The events of a request and of a question that begins to wait. */
function opened(state: FoldState, head: EventHeader, { held, life, item, key }: CallInMemo): TurnEvent[] {
  const { call, effective, note, edit } = life;
  const { callId, tool, toolDigest, preview, policyReason, notes, authority, question } = call;
  const since = held.isKept === true ? held.since : undefined;
  if (item !== undefined || since === undefined) held.deadline = deadlineIn(state, item, call);
  held.shown = 'request';
  held.since = since ?? head.at;
  delete held.isKept;
  const { deadline = null } = held;
  const summary = lineOf(life, item);
  if (question !== undefined)
    return [
      {
        type: 'question_opened',
        ...callHeader(state, head, callId),
        callKey: key,
        tool,
        question,
        deadline,
        summary,
      },
    ];
  const { timeoutMs, safety, effect, noBatch, grants, server, gate } = call.settings;
  const unowned = gate !== undefined && gate.activity === undefined ? (true as const) : undefined;
  return [
    {
      type: 'request_opened',
      ...callHeader(state, head, callId),
      callKey: key,
      tool,
      safety,
      effect,
      arguments: effective,
      seenDigest: seenDigestIn(effective, preview),
      toolDigest,
      deadline,
      summary,
      proposed: life.proposed ?? call.proposed,
      preview,
      policyReason,
      notes,
      authority,
      noBatch,
      grants,
      server,
      schema: state.approvals.schemas.get(toolDigest),
      timeoutMs: unowned === undefined ? timeoutMs : undefined,
      unowned,
      byGate: gate?.activity === undefined ? undefined : (true as const),
      note: note ?? item?.note,
      since,
      edit,
    },
  ];
}

/** The line in the memo. If the memo does not name the call, the line that the workflow makes. */
function lineOf({ call, effective, note }: CallState, item: OpenItem | undefined) {
  if (item !== undefined) return item.summary;
  const { callId, tool, question, preview = question && { text: question.text } } = call;
  return callSummary({ callId, tool, arguments: effective, note, preview });
}

/** The deadline in the memo. If the memo does not name the call, the deadline by the call's settings and its rule. */
function deadlineIn({ taskTime }: FoldState, item: OpenItem | undefined, call: ValidCall) {
  if (item !== undefined) return item.deadline;
  const expiresMs = timeToDecide(call);
  return expiresMs === null ? null : new Date(taskTime + expiresMs).toISOString();
}

/**
 * The digest of the request that is shown. It is made anew, because a decision is bound to what a person could read, so
 * recorded digests are not trusted.
 */
function seenDigestIn(args: JsonObject, preview: Preview | undefined) {
  try {
    const argsDigest = digestJson(args, sha256);
    return seenDigestOf({ argsDigest, ...(preview && previewDigests(preview, sha256)) }, sha256);
  } catch {
    // Arguments that cannot be digested do not come from a worker. No decision can approve this digest.
    return '';
  }
}

/** The workflow closed calls by itself. The memo says why. */
function callsClosed(state: FoldState, head: EventHeader, memo: Record<string, string[]>) {
  return CLOSING_CAUSES.flatMap((cause) =>
    (memo[cause] ?? []).flatMap((callId) => {
      const held = state.calls.get(callId);
      return held === undefined || held.hasEnded ? [] : callClosed(state, head, { held, cause });
    }),
  );
}

function callClosed(
  state: FoldState,
  head: EventHeader,
  { held, cause }: { held: CallFold; cause: ClosingCause },
): TurnEvent[] {
  if (cause === 'proven') return closeByProof(state, head, held);
  const { callId } = held.call;
  closeAs(state, head, held, closingOf(state, held, cause));
  const ended = endSettled(state, head, callId);
  if (cause !== 'expired' && cause !== 'unanswered') return ended;
  const question = cause === 'unanswered' || undefined;
  return [{ type: 'request_expired', ...callHeader(state, head, callId), question }, ...ended];
}

/** The workflow closed a call by itself. The event of its end comes with the next step. */
function closeAs(state: FoldState, head: EventHeader, held: CallFold, failure: ToolFailure) {
  const now = timeOf(head);
  const life = lifeOf(state, held);
  const result = failureOf(life, failure, now);
  happen(state, { type: 'closed', callId: life.call.callId, result, at: now });
}

function closingOf({ approvals }: FoldState, held: CallFold, cause: Exclude<ClosingCause, 'proven'>) {
  if (cause === 'absent') return nobodyHad({ notHere: held.absent ?? '' });
  return cause === 'abandoned' ? unresolved(approvals.abandoned ?? {}) : ENDINGS[cause];
}

function openDoubt(
  state: FoldState,
  head: EventHeader,
  { held, life, item, key }: CallInMemo,
  doubt: InDoubt,
): TurnEvent[] {
  const { callId, tool } = held.call;
  held.shown = 'doubt';
  const { message, partial, progress } = doubt;
  const made = { callKey: key, tool, message, summary: lineOf(life, item) };
  return [
    {
      type: 'in_doubt',
      ...callHeader(state, head, callId),
      ...made,
      partial,
      progress,
      isKeyless: held.isKeyless,
    },
  ];
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
  if (output === undefined) return closeUnprepared(state, event, held, 'what was prepared cannot be read');
  const isNew = held.call.kind === 'remote';
  return takePrepared(state, event, { ...output, call: preparedAs(held.call, output.call), isNew });
}

/** A call of a user's own workflow was prepared: the first time, or anew with a person's arguments. */
export function gateCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  callId: string,
): TurnEvent[] {
  const output = readGateOutput(event.result, callId);
  const isNew = state.approvals.calls.get(callId)?.phase !== 'preparing';
  return output === undefined ? [] : takePrepared(state, event, { ...output, isNew });
}

/** Takes a call as it was prepared: the first time, or anew. */
function takePrepared(
  state: FoldState,
  head: EventHeader,
  { call, schema, isNew }: PrepareOutput & { isNew: boolean },
): TurnEvent[] {
  if (schema !== undefined && call.kind === 'ask')
    happen(state, { type: 'knew', schemas: { [call.toolDigest]: schema } });
  if (isNew) openCall(state, call);
  else prepared(state, head, call);
  return [preparedEvent(state, head, call), ...(isNew ? endUnrun(state, head) : [])];
}

/** A call was prepared anew, or it was not, so that the request stays as it was. */
function prepared(state: FoldState, head: EventHeader, call: PreparedCall) {
  const held = state.calls.get(call.callId);
  const life = state.approvals.calls.get(call.callId);
  if (life?.phase !== 'preparing' || held === undefined) return;
  if (life.renewedBy !== undefined && !isValidCall(call)) held.isKept = true;
  happen(state, { type: 'prepared', callId: call.callId, prepared: call, at: timeOf(head) });
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
    closeAs(state, event, held, ENDINGS.neverStarted);
    return [];
  }
  return closeUnprepared(state, event, held, root.message);
}

function closeUnprepared(state: FoldState, head: EventHeader, held: CallFold, why: string): TurnEvent[] {
  const { callId, id, tool } = held.call;
  const life = lifeOf(state, held);
  const result = failureOf(life, unprepared(tool, why), timeOf(head));
  if (life.phase === 'preparing') {
    prepared(state, head, { kind: 'invalid', callId, id, tool, proposed: {}, result });
    return [];
  }
  return endCall(state, head, held, { result, durationMs: null, attempts: 0, origin: 'turn' });
}
