import type { SearchAttributeUpdatePair } from '@temporalio/common';
import {
  proxySinks,
  setCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ObserveSinks } from '../activities/observed';
import type { ValidCall } from '../contract/call';
import { LIMITS } from '../contract/limits';
import { askedBy, attributeKey, facetMark, gateMemoKey, MEMO, NEVER } from '../contract/names';
import { utf8Bytes } from '../contract/text/bytes';
import type { CallFacet, TurnState } from '../contract/turn-states';
import { isOurWorker } from '../contract/worker-tools';
import { apply } from '../lifecycle/events';
import { type CallState, decisionOf, isOpen, leaveOf, resultOf } from '../lifecycle/state';
import type { ApprovalContext } from './call-life';
import { closedMemos, type OpenCall, openCalls, openMemo, verdictsMemo } from './summary';

const { countersign } = proxySinks<ObserveSinks>();

/** The most bytes of a search attribute that we write. The server takes 2 KB for each. */
const MOST_BYTES = 2000;

/** The bytes for which the memo has room, beside what we keep there. */
export function memoRoom(): number {
  const used = utf8Bytes(JSON.stringify(workflowInfo().memo ?? {}));
  return LIMITS.memoOfServer - LIMITS.memoBytes - used;
}

/**
 * Writes a whole call into history. The memo has it only until the next command: the server ends a workflow whose memo
 * is over the limit of its namespace, which is 40 KB on Temporal Cloud.
 */
export function recordCall(call: ValidCall): void {
  const key = gateMemoKey(call.callId);
  upsertMemo({ [key]: call });
  upsertMemo({ [key]: null });
}

/**
 * Shows the calls that wait for a person in visibility and in Temporal's UI: in memo, search attributes and current
 * details. It writes only what changed.
 */
export class Publisher {
  private state: TurnState = 'running';
  private open: string;
  /** Whether the memo has calls that the workflow closed by itself. */
  private hasClosed = false;
  private verdicts = 0;
  private ended = false;
  /** What happened to calls. It goes along with the next change, because by itself it is worth no event. */
  private readonly facets = new Set<CallFacet>();
  private written = 0;

  /**
   * `details` writes the current details. `takesUp`: the previous run left waiting calls in the memo, which this run
   * writes anew. `write` writes the memo.
   */
  constructor(
    private readonly context: ApprovalContext,
    private readonly details: (open: readonly OpenCall[]) => string,
    takesUp = false,
    private readonly write = upsertMemo,
  ) {
    this.open = takesUp ? '' : 'null';
  }

  /** `isLast`: the next run goes on from what this one has written. */
  look(isLast = false): void {
    if (this.ended) return;
    const open = openCalls(this.context.approvals.calls.values());
    this.publishOpen(open, stateOf(open), isLast);
    this.publishVerdicts();
    setCurrentDetails(this.details(open));
  }

  /** Publishes how the turn ended. Nothing is published after that. */
  end(state: TurnState): void {
    this.ended = true;
    this.publishOpen([], state);
    this.publishVerdicts();
    setCurrentDetails(`Ended: ${state}`);
  }

  private publishOpen(open: readonly OpenCall[], state: TurnState, isLast = false) {
    for (const call of this.context.approvals.calls.values())
      for (const facet of facetsOf(call)) this.facets.add(facet);
    const memo = openMemo(open, this.context);
    const text = JSON.stringify(memo);
    const changed = text !== this.open;
    this.writeMemo(changed ? { [MEMO.open]: memo } : {});
    if (changed || state !== this.state || (isLast && this.facets.size > this.written)) {
      upsertSearchAttributes(attributesOf(open, state, this.facets));
      this.written = this.facets.size;
    }
    // A worker that is not ours has no such sink, and would log an error.
    if (changed && isOurWorker() && !workflowInfo().unsafe.isReplaying) countersign.changed();
    this.open = text;
    this.state = state;
  }

  /**
   * Writes to the memo the calls that the workflow closed by itself. Where they are too many for one event, each event
   * takes the place of the one before, and history has them all. The next event that writes the open calls removes them.
   */
  private writeMemo(fields: Record<string, unknown>) {
    const { closings } = this.context.approvals;
    const parts = closedMemos(closings);
    const last = parts.pop();
    for (const part of parts) this.write({ [MEMO.closed]: part });
    if (last !== undefined) fields[MEMO.closed] = last;
    else if (this.hasClosed && MEMO.open in fields) fields[MEMO.closed] = null;
    if (closings.size > 0) this.context.approvals = apply(this.context.approvals, { type: 'published' });
    if (MEMO.closed in fields) this.hasClosed = fields[MEMO.closed] !== null;
    if (Object.keys(fields).length > 0) this.write(fields);
  }

  private publishVerdicts() {
    const { signalVerdicts, signalCount, signalsWaiting } = this.context;
    if (signalCount === this.verdicts) return;
    this.write({ [MEMO.verdicts]: verdictsMemo(signalVerdicts, signalsWaiting) });
    this.verdicts = signalCount;
  }
}

function stateOf(open: readonly OpenCall[]): TurnState {
  if (open.some((call) => call.phase === 'in_doubt')) return 'in_doubt';
  return open.length > 0 ? 'waiting' : 'running';
}

function facetsOf(call: CallState): CallFacet[] {
  const { code } = resultOf(call)?.error ?? {};
  const isEdited = call.proposed !== undefined || decisionOf(call)?.decision.hunks !== undefined;
  return [
    ...(code === undefined || code === 'cancelled' ? [] : ([code === 'denied' ? code : 'failed'] as const)),
    ...(isEdited ? (['edited'] as const) : []),
    ...(leaveOf(call)?.by === 'grant' ? (['granted'] as const) : []),
  ];
}

function attributesOf(
  open: readonly OpenCall[],
  state: TurnState,
  facets: Iterable<CallFacet>,
): SearchAttributeUpdatePair[] {
  return [
    { key: attributeKey('state'), value: state },
    { key: attributeKey('pending'), value: open.length },
    { key: attributeKey('tools'), value: toolNames(open, [...facets].map(facetMark)) },
    { key: attributeKey('deadline'), value: open.length === 0 ? null : earliest(open) },
  ];
}

/**
 * The names of tools that wait now, what happened to calls, and the names of tools that asked before, also in earlier
 * runs: as many as the server takes.
 */
function toolNames(open: readonly OpenCall[], facets: readonly string[]) {
  const before = workflowInfo().typedSearchAttributes.get(attributeKey('tools')) ?? [];
  const waiting = open.map(({ call }) => call.tool);
  const past = before.filter((name) => name.includes(':'));
  const all = fitting([...new Set([...waiting, ...facets, ...past, ...waiting.map(askedBy)])]);
  return all.length === 0 ? null : all;
}

/** The first values, as many as the server takes. With more, it would refuse the workflow task again and again. */
export function fitting(values: readonly string[]): string[] {
  const kept = [...values];
  while (utf8Bytes(JSON.stringify(kept)) > MOST_BYTES) kept.pop();
  return kept;
}

function earliest(open: readonly OpenCall[]): Date {
  const deadlines = open.flatMap((call) => (isOpen(call) && call.deadline !== null ? [call.deadline] : []));
  return deadlines.length === 0 ? new Date(NEVER) : new Date(Math.min(...deadlines));
}
