import { votingUnder } from '../authority/votes/open-votes';
import { callSummary } from '../contract/text/call-summary';
import { plainMarkdown } from '../contract/text/markdown';
import { LIMITS } from '../contract/limits';
import { MEMO } from '../contract/names';
import type { SignalVerdict } from '../contract/decision';
import { utf8Bytes } from '../contract/text/bytes';
import type { ClosingCause } from '../contract/call-texts';
import { type OpenItem, openItemOf } from '../contract/open-item';
import type { ClosedMemo, OpenMemo } from '../contract/turn';
import {
  type CallState,
  type DoubtedCall,
  isOpen,
  type QuestionCall,
  type RequestCall,
} from '../lifecycle/state';
import { authorityOf } from '../lifecycle/votes';
import type { ApprovalContext } from './call-life';

/** One line about a call, for Temporal's own UI. */
export function summaryOf({ call, effective, note }: CallState): string {
  const { callId, tool } = call;
  return plainMarkdown(callSummary({ callId, tool, arguments: effective, note }));
}

/** One line about a waiting call. It uses the words of the preview, because a person decides about the preview. */
function shownSummary({ call, effective, note }: CallState) {
  const { callId, tool, question, preview = question && { text: question.text } } = call;
  return callSummary({ callId, tool, arguments: effective, note, preview });
}

/** A call that waits for a person. */
export type OpenCall = RequestCall | QuestionCall | DoubtedCall;

/** The calls that wait for a person, in the model's order. */
export function openCalls(calls: Iterable<CallState>): OpenCall[] {
  return [...calls].flatMap((state) => (isOpen(state) || state.phase === 'in_doubt' ? [state] : []));
}

function deadlineOf(state: OpenCall) {
  const deadline = isOpen(state) ? state.deadline : null;
  return deadline === null ? null : new Date(deadline).toISOString();
}

/** The memo that lists the waiting calls, cut to its limits. Null if no call waits. */
export function openMemo(
  open: readonly OpenCall[],
  { stepKey: key, by }: Pick<ApprovalContext, 'stepKey' | 'by'>,
): OpenMemo | null {
  if (open.length === 0) return null;
  const items = open.slice(0, LIMITS.memoRequests).map(openItem);
  const memo = { key, count: open.length, items, by };
  while (items.length > 1 && utf8Bytes(JSON.stringify(memo)) > LIMITS.memoBytes / 2) items.pop();
  return memo;
}

function openItem(state: OpenCall): OpenItem {
  const { call, phase, seenDigest, note, since } = state;
  return openItemOf({
    callId: call.callId,
    kind: phase,
    tool: call.tool,
    summary: shownSummary(state),
    seenDigest,
    note,
    voting: votingOn(state),
    since: new Date(since).toISOString(),
    deadline: deadlineOf(state),
  });
}

/** The votes on a call, and the votes that are still needed. Undefined: no rule says who decides. */
function votingOn(state: CallState): OpenItem['voting'] {
  const authority = authorityOf(state);
  return authority && votingUnder(authority, state.votes, Date.now());
}

/** So many ids of calls fit into one half of the memo. */
const CLOSED_AT_ONCE = 30;

/** The calls that the workflow closed by itself, by cause, in parts that fit the memo. */
export function closedMemos(closings: ReadonlyMap<string, ClosingCause>): ClosedMemo[] {
  const memos: ClosedMemo[] = [];
  let memo: ClosedMemo = {};
  for (const [at, [callId, cause]] of [...closings].entries()) {
    if (at % CLOSED_AT_ONCE === 0) memos.push((memo = {}));
    (memo[cause] ??= []).push(callId);
  }
  return memos;
}

/** The newest verdicts that fit into one half of the memo. The waiting calls have the other half. */
export function verdictsMemo(verdicts: readonly SignalVerdict[], behind: number): SignalVerdict[] {
  const last = verdicts.slice(-1).map((one) => (behind > 0 ? { ...one, behind } : one));
  const kept = [...verdicts.slice(0, -1), ...last];
  const size = () => utf8Bytes(JSON.stringify({ [MEMO.verdicts]: kept }));
  while (kept.length > 1 && size() > LIMITS.memoBytes / 2) kept.shift();
  return kept;
}

/** The current details that Temporal's UI shows, in Markdown. */
export function currentDetails(open: readonly OpenCall[], step: number): string {
  if (open.length === 0) return `Step ${step}`;
  return open.map(detailLine).join('\n');
}

function detailLine(state: OpenCall) {
  const { callId, tool } = state.call;
  if (state.phase === 'in_doubt')
    return `- **in doubt**: \`${callId}\` ${tool}: ${plainMarkdown(state.doubt.message)}`;
  const deadline = deadlineOf(state);
  const until = deadline === null ? 'never expires' : `expires ${deadline}`;
  const what = state.phase === 'question' ? 'an answer' : 'a decision';
  return `- **waits for ${what}**: \`${callId}\` ${tool}, ${until}`;
}
