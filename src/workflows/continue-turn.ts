import { workflowInfo } from '@temporalio/workflow';
import { LIMITS } from '../contract/limits';
import { utf8Bytes } from '../contract/text/bytes';
import type { CarriedTurn, TurnInput } from '../contract/turn';
import { carriedDecisions } from '../lifecycle/state';
import { continueWithMemo } from './current-build';
import { noteRequesters } from './session/words';
import { statesOf } from './think';
import type { Turn, TurnRuntime, TurnWorkflow } from './turn-state';

/**
 * Whether the turn has to continue as new. Checked between steps, when nothing is open. A run takes at least one step
 * before, because signals that fill its history at once would otherwise keep the turn from ever taking one. A cancelled
 * turn ends instead.
 */
export function mustContinue({ approvals, given, moved, tried }: Turn): boolean {
  // The next run gets what holds for the whole fork, but not the fork's first step. So that step has to be applied
  // before.
  const isOpen = given !== undefined || moved !== undefined || tried !== undefined;
  return workflowInfo().continueAsNewSuggested && !approvals.cancelled && !isOpen;
}

export async function continueTurn(
  turn: Turn,
  { queue, changes, publisher }: TurnRuntime,
  nextInput: () => TurnInput,
): Promise<never> {
  // Messages that still wait would be lost, so they are judged first. Nothing is open, so judging refuses them.
  await queue.emptied();
  lighten(turn, nextInput);
  // The verdicts on signals go along in the memo, where their senders look for them.
  changes.look();
  publisher.look(true);
  return continueWithMemo<TurnWorkflow>({}, nextInput());
}

/** Leaves out parts that the next run can do without, if its input would be too large. */
function lighten(turn: Turn, nextInput: () => TurnInput) {
  const isHeavy = () => isInputTooLarge(nextInput());
  // The worker reads these texts in the transcript.
  if (isHeavy()) turn.results = turn.results.map(({ text: _, ...ref }) => ref);
  const { waiting } = turn.words;
  // A session queues the words that its turn did not take up.
  while (waiting.length > 0 && isHeavy()) waiting.pop();
}

/** Whether the input is over the limit. The server refuses a larger payload, and the turn would then never continue. */
export function isInputTooLarge(input: TurnInput): boolean {
  return utf8Bytes(JSON.stringify(input)) > LIMITS.movedBytes;
}

/** The input of the next run. `more`: what it gets of features, and what differs from this run. */
export function inputOfNext(turn: Turn, more: Partial<CarriedTurn>): TurnInput {
  const carried = { ...carry(turn), ...more };
  noteRequesters(turn, turn.approvals.speakers);
  const { agent, origin, fork, session, call } = turn;
  const cap = Object.keys(turn.cap).length === 0 ? undefined : turn.cap;
  const lineage = turn.lineage.length === 0 ? undefined : [...turn.lineage];
  const sessionSpending = turn.ofSession;
  return { agent, prompt: '', carried, origin, fork, call, lineage, cap, session, sessionSpending };
}

/** What every next run gets. */
function carry(turn: Turn): CarriedTurn {
  const states = statesOf(turn);
  return {
    step: turn.step,
    transcript: [...turn.transcript.entries],
    droppedBefore: turn.transcript.droppedBefore,
    results: turn.results,
    cutTo: turn.cutTo,
    spent: carriedDecisions(turn.approvals),
    counts: turn.counts,
    usage: turn.usage,
    window: turn.window,
    signalVerdicts: turn.signalVerdicts,
    states: states.length === 0 ? undefined : states,
  };
}
