import type { Accepted, Decision, QuestionAnswer, Refused } from '../../contract/decision';
import { answered, declined } from '../../contract/call-texts';
import { misfitText } from '../../contract/read-json';
import { checkAnswer } from '../../contract/schema/question-form';
import {
  accept,
  checkMessage,
  isTooLate,
  type Judged,
  parseAnswer,
  readNew,
  refusal,
  alreadyDecided,
  refuse,
  type TakenAt,
} from './messages';
import type { Approvals, CallState } from './state';
import { closeCall, failureOf, successOf } from './transitions';
import { SOMEBODY } from '../../contract/authority';

/**
 * Judges an answer from any sender at workflow time `now` (ms). The first valid answer wins. At or after the deadline
 * the answer is `expired`, like a decision. Only a question takes an answer, and a question takes nothing else.
 */
export function judgeAnswer(approvals: Approvals, message: unknown, now: number): Judged<QuestionAnswer> {
  const read = readNew(approvals, parseAnswer(message), message);
  if (read.kind !== 'new') return read;
  const { message: answer, contentDigest } = read;
  const state = approvals.calls.get(answer.callId);
  const question = state?.phase === 'question' ? state.call.question : undefined;
  if (state === undefined || question === undefined) return refusal(notAsked(approvals, answer, state));
  if (isTooLate(state, now)) return refusal(expired(answer));
  const unfit = checkMessage(answer, state);
  if (unfit !== undefined) return refusal(unfit);
  if (answer.answer === 'declined') return { kind: 'take', message: answer, state, contentDigest };
  const { content, issues } = checkAnswer(question, answer.content ?? {});
  if (issues.length > 0) {
    const message = misfitText(issues);
    return { ...refusal({ ...refuse('invalid_answer', message, answer), issues }), isChecked: true };
  }
  return { kind: 'take', message: { ...answer, content }, state, contentDigest, isChecked: true };
}

/** Refuses a decision that was sent for a question: a question takes only an answer. */
export function refuseDecision(decision: Pick<Decision, 'callId' | 'decisionId'>): Refused {
  const why = `call ${decision.callId} is a question: it is answered, not decided`;
  return refuse('malformed', why, decision);
}

function notAsked(approvals: Approvals, answer: QuestionAnswer, state: CallState | undefined): Refused {
  const closed = approvals.closed.get(answer.callId);
  const standing = state?.standing ?? closed?.standing;
  if (state?.phase === 'request')
    return refuse(
      'malformed',
      `call ${answer.callId} waits for a decision; an answer decides nothing`,
      answer,
    );
  if (closed?.cause === 'unanswered') return expired(answer);
  if (closed?.cause === 'askerEnded')
    return refuse('expired', 'the call that asked this has ended; nobody needs the answer any more', answer);
  if (closed?.cause === 'askerWithdrew')
    return refuse('expired', 'the server withdrew this question; nobody needs the answer any more', answer);
  if (closed?.cause === 'neverStarted')
    return refuse('cancelled', 'the turn was cancelled before this answer came', answer);
  if (standing !== undefined) return alreadyDecided(standing, answer);
  return refuse('unknown_call', `no call ${answer.callId} of this turn waits for an answer`, answer);
}

function expired(answer: QuestionAnswer): Refused {
  return refuse('expired', 'this question expired; the model read that nobody answered', answer);
}

/** Takes a judged answer. The answer closes the question and becomes its result. No call runs because of an answer. */
export function takeAnswer(
  approvals: Approvals,
  { message: answer, state, contentDigest }: Extract<Judged<QuestionAnswer>, { kind: 'take' }>,
  at: TakenAt,
): Accepted {
  const approver = answer.approver ?? SOMEBODY;
  const iso = new Date(at.now).toISOString();
  state.standing = { decision: answer.answer, approver, at: iso };
  if (state.asking !== undefined) state.asking.said = answer;
  const { decisionId } = at;
  const said = { approver, reason: answer.reason };
  const result =
    answer.answer === 'declined'
      ? failureOf(state, declined(said), at.now)
      : successOf(state, answered(said, answer.content ?? {}), at.now);
  closeCall(approvals, state, { result });
  const { callId, answer: decision } = answer;
  const verdict = { decisionId, callId, decision, approver, at: iso };
  return accept(approvals, verdict, { contentDigest, words: decision });
}
