import {
  defineSearchAttributeKey,
  SearchAttributeType,
  type SearchAttributeUpdatePair,
} from '@temporalio/common';
import { condition, setCurrentDetails, upsertMemo, upsertSearchAttributes } from '@temporalio/workflow';
import { MEMO, NEVER, SEARCH_ATTRIBUTES } from '../contract/names';
import type { TurnState } from '../contract/turn';
import type { CallState } from './approvals/state';
import type { Gated } from './gated';
import { openCalls, openMemo, verdictsMemo } from './summary';

const KEYS = {
  state: defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD),
  pending: defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT),
  tools: defineSearchAttributeKey(SEARCH_ATTRIBUTES.tools, SearchAttributeType.KEYWORD_LIST),
  deadline: defineSearchAttributeKey(SEARCH_ATTRIBUTES.deadline, SearchAttributeType.DATETIME),
};

/** Writes what waits for a person where visibility and Temporal's UI can read it; only what changed. */
export class Publisher {
  private state: TurnState = 'running';
  private open = 'null';
  private verdicts = 0;
  private ended = false;
  private seen = 0;
  private isHeld = false;

  /** `details` makes what Temporal's UI shows as current details. */
  constructor(
    private readonly gated: Gated,
    private readonly details: (open: readonly CallState[]) => string,
  ) {}

  /** Publishes whenever something changes, in the same workflow task; runs until the workflow ends. */
  async run(): Promise<never> {
    for (;;) {
      this.publish();
      await condition(() => !this.isHeld && this.gated.revision !== this.seen);
    }
  }

  /** Leaves publishing to the caller, who looks at every change anyway: two that wait cost twice as much. */
  hold(): void {
    this.isHeld = true;
  }

  /** Publishes what changed, and goes on by itself. */
  release(): void {
    this.publish();
    this.isHeld = false;
  }

  /** Publishes what changed, now. */
  publish(): void {
    this.seen = this.gated.revision;
    if (this.ended) return;
    const open = openCalls(this.gated.approvals.calls.values());
    this.publishOpen(open, stateOf(open));
    this.publishVerdicts();
    setCurrentDetails(this.details(open));
  }

  /** The last word: how the turn ended. Nothing waits any more. */
  end(state: TurnState): void {
    this.ended = true;
    this.publishOpen([], state);
    this.publishVerdicts();
    setCurrentDetails(`Ended: ${state}`);
  }

  private publishOpen(open: readonly CallState[], state: TurnState): void {
    const memo = openMemo(open, this.gated.stepKey);
    const text = JSON.stringify(memo);
    const changed = text !== this.open;
    if (changed) upsertMemo({ [MEMO.open]: memo });
    if (changed || state !== this.state) upsertSearchAttributes(attributesOf(open, state));
    this.open = text;
    this.state = state;
  }

  private publishVerdicts(): void {
    const { signalVerdicts, signalCount } = this.gated;
    if (signalCount === this.verdicts) return;
    upsertMemo({ [MEMO.verdicts]: verdictsMemo(signalVerdicts) });
    this.verdicts = signalCount;
  }
}

function stateOf(open: readonly CallState[]): TurnState {
  if (open.some((call) => call.phase === 'in_doubt')) return 'in_doubt';
  return open.length > 0 ? 'waiting' : 'running';
}

function attributesOf(open: readonly CallState[], state: TurnState): SearchAttributeUpdatePair[] {
  return [
    { key: KEYS.state, value: state },
    { key: KEYS.pending, value: open.length },
    { key: KEYS.tools, value: open.length === 0 ? null : [...new Set(open.map((call) => call.call.tool))] },
    { key: KEYS.deadline, value: open.length === 0 ? null : earliest(open) },
  ];
}

function earliest(open: readonly CallState[]): Date {
  const deadlines = open.flatMap((call) => (call.deadline === null ? [] : [call.deadline]));
  return deadlines.length === 0 ? new Date(NEVER) : new Date(Math.min(...deadlines));
}
