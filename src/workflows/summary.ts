import { LIMITS } from '../contract/limits';
import { MEMO } from '../contract/names';
import type { SignalVerdict } from '../contract/decision';
import { utf8Bytes } from '../contract/transcript';
import type { OpenItem, OpenMemo } from '../contract/turn';
import type { CallState } from './approvals/state';

const SUMMARY_CHARS = 80;

/** One line for a person in Temporal's own UI: `1.2 write_file path=README.md`. */
export function summaryOf({ call, effective, note }: CallState): string {
  const args = Object.entries(effective).map(([name, value]) => `${name}=${oneLine(value)}`);
  const noted = note === undefined ? [] : [`(${oneLine(note)})`];
  return cut([call.callId, call.tool, ...noted, ...args].join(' '));
}

function oneLine(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, SUMMARY_CHARS).replace(/\s+/g, ' ');
}

function cut(text: string): string {
  return text.length <= SUMMARY_CHARS ? text : `${text.slice(0, SUMMARY_CHARS - 1)}…`;
}

/** What waits for a person, in the model's order. */
export function openCalls(calls: Iterable<CallState>): CallState[] {
  return [...calls].filter((state) => state.phase === 'request' || state.phase === 'in_doubt');
}

/** The memo that lists what waits, cut to its limits; null where nothing does. */
export function openMemo(open: readonly CallState[], key: string): OpenMemo | null {
  if (open.length === 0) return null;
  const items = open.slice(0, LIMITS.memoRequests).map(openItem);
  const memo = { key, count: open.length, items };
  while (items.length > 1 && utf8Bytes(JSON.stringify(memo)) > LIMITS.memoBytes / 2) items.pop();
  return memo;
}

function openItem(state: CallState): OpenItem {
  return {
    callId: state.call.callId,
    kind: state.phase === 'in_doubt' ? 'in_doubt' : 'request',
    tool: state.call.tool,
    summary: summaryOf(state),
    since: new Date(state.since).toISOString(),
    deadline: state.deadline === null ? null : new Date(state.deadline).toISOString(),
  };
}

/** The verdicts that fit the other half of the memo, newest kept. */
export function verdictsMemo(verdicts: readonly SignalVerdict[]): SignalVerdict[] {
  const kept = [...verdicts];
  const size = () => utf8Bytes(JSON.stringify({ [MEMO.verdicts]: kept }));
  while (kept.length > 1 && size() > LIMITS.memoBytes / 2) kept.shift();
  return kept;
}

/** What Temporal's UI shows as current details, in Markdown. */
export function currentDetails(open: readonly CallState[], step: number): string {
  if (open.length === 0) return `Step ${step}`;
  return open.map(detailLine).join('\n');
}

function detailLine(state: CallState): string {
  const { callId, tool } = state.call;
  if (state.phase === 'in_doubt')
    return `- **in doubt**: \`${callId}\` ${tool}: ${state.doubt?.message ?? ''}`;
  const until =
    state.deadline === null ? 'never expires' : `expires ${new Date(state.deadline).toISOString()}`;
  return `- **waits for a decision**: \`${callId}\` ${tool}, ${until}`;
}
