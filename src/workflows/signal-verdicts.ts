import { isCallId, type SignalVerdict, type Verdict } from '../contract/decision';
import { LIMITS } from '../contract/limits';
import type { ApprovalContext } from './call-life';

/** Keeps the verdict on a signal for the memo, because the sender of a signal does not get an answer. */
export function noteVerdict(context: ApprovalContext, verdict: Verdict, now: number): void {
  const line: SignalVerdict = {
    // A message that cannot be read may have any text as its call id.
    callId: isCallId(verdict.callId) ? verdict.callId : '',
    verdict: verdict.accepted ? 'accepted' : verdict.code,
    decisionId: verdict.decisionId ?? '',
    at: new Date(now).toISOString(),
    asksAgain: verdict.accepted && verdict.asksAgain === true ? (true as const) : undefined,
    stillWaits: verdict.accepted && verdict.needs !== undefined ? (true as const) : undefined,
  };
  context.signalCount += 1;
  context.signalsWaiting -= 1;
  context.signalVerdicts.push(line);
  if (context.signalVerdicts.length > LIMITS.memoVerdicts) context.signalVerdicts.shift();
}
