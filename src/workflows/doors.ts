import { setHandler, uuid4 } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { Verdict } from '../contract/decision';
import { parseAbandonment, parseOutcome } from './approvals/parse';
import { judgeResolution, takeResolution, type JudgedResolution } from './approvals/resolve';
import { report } from './approvals/transitions';
import { acceptedOf, openDecisionDoor, refuseUpdate } from './decision-door';
import { noteVerdict, touch } from './gated';
import * as messages from './messages';
import type { Turn } from './turn';

/**
 * Opens the doors of a turn: updates, whose validator refuses without a trace, and signals, whose refusals are noted.
 * Every handler is synchronous, so no decision is ever half taken.
 */
export function openDoors(turn: Turn): void {
  openDecisionDoor(turn);
  openResolutionDoor(turn);
  setHandler(messages.outcomeSignal, (message) => takeOutcome(turn, message));
  setHandler(messages.abandonSignal, (message) => abandon(turn, message));
  setHandler(messages.transcriptQuery, ({ from }) => turn.transcript.page(from), {
    description: 'The messages the model sees, a page at a time',
  });
}

function openResolutionDoor(turn: Turn): void {
  const judge = (message: RawValue): JudgedResolution =>
    judgeResolution(turn.approvals, messages.decodeMessage(message));
  const answer = (judged: JudgedResolution): Verdict => resolve(turn, judged);
  setHandler(messages.resolveUpdate, (message) => acceptedOf(answer(judge(message))), {
    validator: (message) => refuseUpdate(judge(message)),
    description: 'Resolve a call in doubt: happened, did-not or run-again',
  });
  setHandler(messages.resolutionSignal, (message) => noteVerdict(turn, answer(judge(message)), Date.now()), {
    description: 'Resolve a call in doubt when no worker is up; the verdict is in the memo',
  });
}

function resolve(turn: Turn, judged: JudgedResolution): Verdict {
  touch(turn);
  if (judged.kind === 'refuse') return judged.refused;
  if (judged.kind === 'repeat') return judged.spent.verdict;
  const decisionId = judged.resolution.decisionId ?? uuid4();
  return takeResolution(turn.approvals, judged, { now: Date.now(), decisionId });
}

function takeOutcome(turn: Turn, message: RawValue): void {
  const parsed = parseOutcome(messages.decodeMessage(message));
  if (parsed.ok && report(turn.approvals, parsed.value)) touch(turn);
}

function abandon(turn: Turn, message: RawValue): void {
  turn.approvals.abandoned = parseAbandonment(messages.decodeMessage(message));
  touch(turn);
}
