import { ApplicationFailure, setHandler, uuid4 } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { Accepted, Refused, Verdict } from '../contract/decision';
import { judgeDecision, type JudgedDecision } from './approvals/judge-decision';
import type { JudgedResolution } from './approvals/resolve';
import { takeDecision } from './approvals/take-decision';
import { noteVerdict, touch, type Gated } from './gated';
import * as messages from './messages';

/**
 * Opens the door for decisions: update `decide`, whose validator refuses without a trace, and signal `approval`, whose
 * refusals are noted. Both handlers are synchronous, so no decision is ever half taken.
 */
export function openDecisionDoor(gated: Gated): void {
  const judge = (message: RawValue): JudgedDecision =>
    judgeDecision(gated.approvals, messages.decodeMessage(message), Date.now());
  const answer = (judged: JudgedDecision): Verdict => decide(gated, judged);
  setHandler(messages.decideUpdate, (message) => acceptedOf(answer(judge(message))), {
    validator: (message) => refuseUpdate(judge(message)),
    description: 'Decide on a request: approved, modified (with arguments) or denied',
  });
  setHandler(messages.approvalSignal, (message) => noteVerdict(gated, answer(judge(message)), Date.now()), {
    description: 'Decide on a request when no worker is up; the verdict is in the memo',
  });
}

function decide(gated: Gated, judged: JudgedDecision): Verdict {
  touch(gated);
  if (judged.kind === 'refuse') return judged.refused;
  if (judged.kind === 'repeat') return judged.spent.verdict;
  const decisionId = judged.decision.decisionId ?? uuid4();
  return takeDecision(gated.approvals, judged, { now: Date.now(), decisionId });
}

/** Refuses in the validator: nothing enters history and the sender has its answer at once. */
export function refuseUpdate(judged: JudgedDecision | JudgedResolution): void {
  if (judged.kind === 'refuse') throw refusalFailure(judged.refused);
}

/** Between validator and handler another message of the same task may have won. */
export function acceptedOf(verdict: Verdict): Accepted {
  if (!verdict.accepted) throw refusalFailure(verdict);
  return verdict;
}

function refusalFailure(refused: Refused): ApplicationFailure {
  return ApplicationFailure.create({
    type: refused.code,
    message: refused.message,
    nonRetryable: true,
    details: [refused],
  });
}
