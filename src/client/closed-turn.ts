import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import type { Accepted, Decision, Refused, RefusalCode, Resolution } from '../contract/decision';
import type { DecisionMade, Resolved } from '../history/events';
import { defined } from '../history/defined';
import type { CallView, TurnView } from '../history/view';
import type { Answer } from './types';

/**
 * The answer to a decision on a turn that has ended: nobody is there to judge it, so the record does.
 * The same `decisionId` as the one that stands is a repeat and accepted, with other content it is `malformed`;
 * `already_decided` if somebody decided,
 * `expired` if its time was over, `unknown_call` if it never was a request, otherwise `cancelled`.
 */
export function answerDecision(view: TurnView, decision: Decision): Answer {
  const call = view.calls.find((one) => one.callId === decision.callId);
  const standing = call?.decisions.findLast((one) => one.judgement.accepted === true);
  if (standing !== undefined) return answerStanding(view, decision, standing);
  if (call?.request === undefined) return refused(decision, 'unknown_call', noRequest(decision.callId));
  if (call.phase === 'expired') return refused(decision, 'expired', 'this request expired; nothing ran');
  return refused(
    decision,
    'cancelled',
    `the turn has ended (${view.status}); nothing can be decided any more`,
  );
}

/** The answer to a resolution on a turn that has ended; as `answerDecision`, with `not_in_doubt`. */
export function answerResolution(view: TurnView, resolution: Resolution): Answer {
  const call = view.calls.find((one) => one.callId === resolution.callId);
  const standing = call?.resolutions.findLast((one) => one.judgement.accepted === true);
  if (standing !== undefined) return answerStanding(view, resolution, standing);
  if (call === undefined)
    return refused(resolution, 'unknown_call', `there is no call ${resolution.callId} in this turn`);
  if (!isUnresolved(call)) return refused(resolution, 'not_in_doubt', `call ${call.callId} is not in doubt`);
  return refused(resolution, 'cancelled', `the turn has ended (${view.status}) with this call unresolved`);
}

function isUnresolved({ phase, result }: CallView): boolean {
  return phase === 'closed' || result?.error?.code === 'in_doubt';
}

function noRequest(callId: string): string {
  return `no call ${callId} of this turn waited for a decision`;
}

type Sent = Decision | Resolution;

function answerStanding(view: TurnView, sent: Sent, standing: DecisionMade | Resolved): Answer {
  const { approver, at } = standing;
  const word = (standing.type === 'decision' ? standing.decision : standing.resolution) ?? 'approved';
  if (sent.decisionId !== undefined && sent.decisionId === standing.decisionId) {
    if (digestJson(contentOf(sent)) !== digestJson(contentOf(standing)))
      return refused(sent, 'malformed', 'this decisionId was used before, with other content');
    const { callId, decisionId } = sent;
    const verdict: Accepted = { accepted: true, decisionId, callId, decision: word, approver, at };
    return { status: 'accepted', verdict };
  }
  const answer = refused(
    sent,
    'already_decided',
    `already ${word} by ${approver} at ${at}; the turn is ${view.status}`,
  );
  return { ...answer, verdict: { ...answer.verdict, standing: { decision: word, approver, at } } };
}

/** What a repeat has to say again. */
function contentOf(said: Sent | DecisionMade | Resolved): JsonObject {
  const { arguments: args, hunks, decision, resolution, content, reason } = { ...NOTHING, ...said };
  return defined({ args, hunks, decision, resolution, content, reason });
}

const NOTHING: Partial<Omit<Decision, 'callId'> & Omit<Resolution, 'callId'>> = {};

function refused(
  { callId, decisionId }: Pick<Sent, 'callId' | 'decisionId'>,
  code: RefusalCode,
  message: string,
): RefusedAnswer {
  const verdict: Refused = { accepted: false, code, message, callId };
  return { status: 'refused', verdict: decisionId === undefined ? verdict : { ...verdict, decisionId } };
}

type RefusedAnswer = Extract<Answer, { status: 'refused' }>;
