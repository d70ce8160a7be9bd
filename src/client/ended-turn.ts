import { stillNeeded } from '../authority/votes/count-votes';
import { noCall, REQUEST_EXPIRED } from '../contract/decision';
import type { Accepted, Decision, QuestionAnswer, RefusalCode, Resolution } from '../contract/decision';
import { defined } from '../contract/defined';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { completeAnswer } from '../contract/question';
import { takesEffect, wordIn } from '../history/decisions';
import type { Answered, DecisionMade, Resolved } from '../history/events';
import { votesNeededOn } from '../history/labels';
import type { CallView, TurnView } from '../history/view';
import type { Answer } from './types';

/**
 * The answer to a decision on a turn that has ended. No workflow can judge the decision, so this function judges it by
 * history. A decision with the `decisionId` of a decision that was accepted is a repeat: it is accepted, or `malformed`
 * if it has other content. Otherwise the answer is `already_decided` if a decision settled the request, `expired` if
 * the time of the request was over, `unknown_call` if the call never was a request, and `cancelled` in all other cases.
 */
export function answerDecision(view: TurnView, decision: Decision): Answer {
  const call = view.calls.find((one) => one.callId === decision.callId);
  const final = repeatedIn(call?.decisions, decision) ?? call?.settledBy;
  if (call !== undefined && final !== undefined) return answerRepeat({ view, call }, decision, final);
  if (call?.request === undefined)
    return refused(decision, 'unknown_call', `no call ${decision.callId} of this turn waited for a decision`);
  if (call.outcome === 'expired') return refused(decision, 'expired', REQUEST_EXPIRED);
  return refused(
    decision,
    'cancelled',
    `the turn has ended (${view.status}); nothing can be decided any more`,
  );
}

/**
 * The answer to a resolution on a turn that has ended. The rules are those of `answerDecision`, with `already_decided` in
 * addition.
 */
export function answerResolution(view: TurnView, resolution: Resolution): Answer {
  const call = view.calls.find((one) => one.callId === resolution.callId);
  if (call === undefined) return refused(resolution, 'unknown_call', noCall(resolution.callId));
  const standing = isUnresolved(call) ? undefined : call.resolvedBy;
  const final = repeatedIn(call.resolutions, resolution) ?? standing;
  if (final !== undefined) return answerRepeat({ view, call }, resolution, final);
  if (!isUnresolved(call))
    return refused(resolution, 'already_decided', `call ${call.callId} is not in doubt`);
  return refused(resolution, 'cancelled', `the turn has ended (${view.status}) with this call unresolved`);
}

/** The answer to a person's answer to a question, on a turn that has ended. The rules are those of `answerDecision`. */
export function answerAnswer(view: TurnView, answer: QuestionAnswer): Answer {
  const call = view.calls.find((one) => one.callId === answer.callId);
  const final = call?.answers.findLast(takesEffect);
  if (call !== undefined && final !== undefined)
    return answerRepeat({ view, call }, withDefaultsOf(call, answer), final);
  if (call?.question === undefined)
    return refused(answer, 'unknown_call', `no call ${answer.callId} of this turn waited for an answer`);
  if (call.outcome === 'expired') return refused(answer, 'expired', 'this question expired');
  return refused(
    answer,
    'cancelled',
    `the turn has ended (${view.status}); nothing can be answered any more`,
  );
}

/** An answer with the defaults of its form, as the record holds it. */
function withDefaultsOf(call: CallView | undefined, answer: QuestionAnswer): QuestionAnswer {
  const question = call?.question;
  if (question === undefined || answer.answer !== 'answered') return answer;
  return { ...answer, content: completeAnswer(question.question, answer.content ?? {}) };
}

function isUnresolved({ outcome = 'in_doubt' }: CallView) {
  return outcome === 'in_doubt';
}

/** The accepted message that a message repeats: it has the same id. */
function repeatedIn<T extends DecisionMade | Resolved>(
  said: readonly T[] | undefined,
  { decisionId }: Sent,
): T | undefined {
  if (decisionId === undefined) return undefined;
  return said?.find((one) => one.judgement.accepted === true && one.decisionId === decisionId);
}

/** A person's message to a turn. */
export type Sent = Decision | Resolution | QuestionAnswer;

function answerRepeat(
  { view, call }: { view: TurnView; call: CallView },
  sent: Sent,
  final: DecisionMade | Resolved | Answered,
): Answer {
  const { approver, at } = final;
  const word = wordOf(final);
  if (sent.decisionId !== undefined && sent.decisionId === final.decisionId) {
    if (digestJson(contentOf(sent)) !== digestJson(contentOf(final)))
      return refused(sent, 'malformed', 'this decisionId was used before, with other content');
    const { callId, decisionId } = sent;
    const head = { accepted: true as const, decisionId, callId, decision: word, approver, at };
    return { status: 'accepted', verdict: { ...head, ...firstVerdict(call, final) } };
  }
  const answer = refused(
    sent,
    'already_decided',
    `already ${word} by ${approver} at ${at}; the turn is ${view.status}`,
  );
  return { ...answer, verdict: { ...answer.verdict, standing: { decision: word, approver, at } } };
}

/** What the first verdict on a message said besides the message. The record of a signal does not name the votes. */
function firstVerdict(
  call: CallView,
  final: DecisionMade | Resolved | Answered,
): Pick<Accepted, 'asksAgain' | 'unbound' | 'needs'> {
  if (final.type === 'answered') return {};
  const { asksAgain, unbound } = final.type === 'decision' ? final : {};
  const count =
    final.stillWaits === true && final.needs === undefined
      ? votesNeededOn(call, Date.parse(final.at))
      : undefined;
  return { asksAgain, unbound, needs: final.needs ?? (count && stillNeeded(count)) };
}

/** The word for a decision, a resolution or an answer. */
export function wordOf(final: DecisionMade | Resolved | Answered): Accepted['decision'] {
  return wordIn(final) ?? (final.type === 'answered' ? 'answered' : 'approved');
}

/** The parts of a message that must be the same in a repeat. */
function contentOf(said: Sent | DecisionMade | Resolved | Answered): JsonObject {
  const { arguments: args, hunks, decision, resolution, answer, content, reason } = { ...NOTHING, ...said };
  return defined({ args, hunks, decision, resolution, answer, content, reason });
}

const NOTHING: Partial<
  Omit<Decision, 'callId'> & Omit<Resolution, 'callId' | 'content'> & Pick<QuestionAnswer, 'answer'>
> & { content?: string | JsonObject } = {};

/** The answer of a message that changes nothing. */
export function refused(
  { callId, decisionId }: Pick<Sent, 'callId' | 'decisionId'>,
  code: RefusalCode,
  message: string,
): Extract<Answer, { status: 'refused' }> {
  return {
    status: 'refused',
    verdict: { accepted: false, code, message, callId, decisionId },
  };
}
