import type { SignalVerdict, Verdict } from '../contract/decision';
import { LIMITS } from '../contract/limits';
import type { Approvals } from './approvals/state';

/** What decisions are taken on and what is published of it: a turn has it, and so has a gate in anybody's workflow. */
export interface Gated {
  approvals: Approvals;
  /** A call's key is `<stepKey>:<callId>`, for all calls that are open together. */
  stepKey: string;
  signalVerdicts: SignalVerdict[];
  /** How many verdicts on signals there were in all. */
  signalCount: number;
  /** Raised by everything that may let a waiting part go on. */
  revision: number;
}

/** Lets every waiting part look again. */
export function touch(gated: Gated): void {
  gated.revision += 1;
}

/** Keeps the verdict on a signal for the memo: its sender has no other answer. */
export function noteVerdict(gated: Gated, verdict: Verdict, now: number): void {
  const line: SignalVerdict = {
    callId: verdict.callId,
    verdict: verdict.accepted ? 'accepted' : verdict.code,
    decisionId: verdict.decisionId ?? '',
    at: new Date(now).toISOString(),
  };
  gated.signalCount += 1;
  gated.signalVerdicts = [...gated.signalVerdicts, line].slice(-LIMITS.memoVerdicts);
}
