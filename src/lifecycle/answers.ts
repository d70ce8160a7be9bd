import type { QuestionAnswer, Refused } from '../contract/decision';
import { answered, declined } from '../contract/call-texts';
import { misfitText } from '../contract/read-json';
import { checkAnswer } from '../contract/schema/question-form';
import {
  accepted,
  alreadyDecided,
  checkMessage,
  type Decided,
  type Fresh,
  isTooLate,
  parseAnswer,
  readNew,
  refuse,
  type ReceivedMessage,
} from './messages';
import { unlessVoid } from './decide';
import { failureOf, successOf } from './results';
import { type Approvals, type CallState, type QuestionCall, standingOf } from './state';
import { SOMEBODY } from '../contract/authority';

/**
 * What an answer leads to at workflow time `now` (ms). The first valid answer wins. At or after the deadline it is
 * `expired`, like a decision. Only a question takes an answer, and a question takes nothing else. Only turns ask
 * questions, so this is not a part of `decide`, which is bundled with every gate.
 */
export function decideAnswer(calls: Approvals, said: ReceivedMessage, now: number): Decided {
  return unlessVoid(calls, said, judged(calls, said, now));
}

function judged(calls: Approvals, said: ReceivedMessage, now: number): Decided {
  const read = readNew(calls, parseAnswer(said.message), { ...said, now });
  if ('decided' in read) return read.decided;
  const { message: answer, fresh } = read;
  const state = calls.calls.get(answer.callId);
  if (state?.phase !== 'question' || state.call.question === undefined)
    return { refused: notAsked(calls, answer, state) };
  if (isTooLate(state, now)) return { refused: expired(answer) };
  const unfit = checkMessage(answer, state);
  if (unfit !== undefined) return { refused: unfit };
  if (answer.answer === 'declined') return answeredBy(state, answer, fresh);
  const { content, issues } = checkAnswer(state.call.question, answer.content ?? {});
  if (issues.length > 0) {
    const refused = { ...refuse('validation', misfitText(issues), answer), issues };
    return { refused, isChecked: true };
  }
  return { ...answeredBy(state, { ...answer, content }, fresh), isChecked: true };
}

function notAsked(calls: Approvals, answer: QuestionAnswer, state: CallState | undefined): Refused {
  const closed = calls.closed.get(answer.callId);
  const standing = standingOf(calls, answer.callId);
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

function answeredBy(state: QuestionCall, answer: QuestionAnswer, { digest, id, now }: Fresh) {
  const { callId, answer: decision } = answer;
  const closed = closedByAnswer(state, answer, now);
  const verdict = { ...closed.standing, decision, decisionId: id(), callId };
  return accepted([closed], verdict, { digest, words: decision });
}

/** The answer closes the question and becomes its result. No call runs because of an answer. */
export function closedByAnswer(state: CallState, said: QuestionAnswer, now: number) {
  const { callId, answer: decision, approver = SOMEBODY, reason, content = {} } = said;
  const by = { approver, reason };
  const result =
    decision === 'declined'
      ? failureOf(state, declined(by), now)
      : successOf(state, answered(by, content), now);
  const standing = { decision, approver, at: new Date(now).toISOString() };
  return { type: 'closed' as const, callId, result, standing, said, at: now };
}
