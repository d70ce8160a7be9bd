import type { Answer } from '../client';
import { CountersignError } from '../contract/errors';
import type { Accepted, Refused } from '../contract/decision';
import { needsText } from '../contract/text/waits';
import type { Screen, Style } from './print/screen';
import { escapeText } from '../contract/text/escape';

/** The call that an answer is about, and how to print the answer. */
interface AnsweredCall {
  /** `<turn>/<call>`. */
  id: string;
  json: boolean;
  /** One line that names the approved call. Absent if the caller does not know the line. */
  what?: string;
}

/**
 * Prints the result of a decision, a resolution or an answer to a question.
 *
 * @throws CountersignError `refused` for a refusal.
 */
export function reportAnswer(answer: Answer, { id, json, what }: AnsweredCall, screen: Screen): void {
  if (json) screen.json(answer);
  assertTaken(answer, id);
  if (json) return;
  if (answer.status === 'accepted') {
    screen.lines(acceptedLines(id, answer.verdict, screen));
    if (what !== undefined && answer.verdict.decision !== 'denied') screen.line(`  ${escapeText(what)}`);
  } else screen.line(screen.style.warn(`${escapeText(id)} ${RECORDED}`));
}

/** @throws CountersignError `refused` for a refusal, with its code and its reason. */
export function assertTaken(
  answer: Answer,
  id: string,
): asserts answer is Exclude<Answer, { status: 'refused' }> {
  if (answer.status === 'refused') throw refusal(id, answer.verdict);
}

/** A signal has no answer, and workflow code cannot see when it was sent. So it counts from when a worker reads it. */
const RECORDED = 'recorded; it takes effect if a worker takes it up before the deadline';

function acceptedLines(
  id: string,
  { decision, approver, asksAgain, needs }: Accepted,
  { style }: Screen,
): string[] {
  const line = `${escapeText(id)} ${decision} by ${escapeText(approver)}`;
  if (needs) return [style.warn(line), `It waits: ${escapeText(needsText(needs))}.`];
  if (asksAgain !== true)
    return [decision === 'denied' || decision === 'declined' ? style.bad(line) : style.good(line)];
  return [
    style.warn(line),
    `It is asked about anew${decision === 'modified' ? ', with your arguments' : ''}. It waits for a decision of its own, because nobody saw it yet.`,
  ];
}

/** The answer to one decision of several, in one line. `id` is `<turn>/<call>`. */
export function answerLine(answer: Answer, id: string, style: Style): string {
  const name = escapeText(id);
  if (answer.status === 'recorded') return style.warn(`${name} ${RECORDED}`);
  if (answer.status === 'accepted') {
    const { decision, needs } = answer.verdict;
    return needs
      ? style.warn(`${name} ${decision}, and it waits: ${escapeText(needsText(needs))}`)
      : style.good(`${name} ${decision}`);
  }
  return style.bad(`${name} refused, ${answer.verdict.code}: ${escapeText(answer.verdict.message)}`);
}

function refusal(id: string, verdict: Refused): CountersignError {
  const { code, message, issues = [], standing } = verdict;
  const problems = issues
    .filter((issue) => !message.includes(issue.message))
    .map((issue) => `  ${inLine(issue.path || '(root)')}: ${inLine(issue.message)}`);
  const stands = standing
    ? [inLine(`It stands as ${standing.decision} by ${standing.approver} at ${standing.at}.`)]
    : [];
  return new CountersignError(
    'refused',
    [inLine(`${id} was refused, ${code}: ${message}`), ...problems, ...stands].join('\n'),
    { hint: HINTS[code], data: { verdict } },
  );
}

/** Keeps text from outside within one line. Control characters are escaped where errors are printed. */
function inLine(text: string) {
  return text.replaceAll('\n', '\\n');
}

const HINTS: Readonly<Record<Refused['code'], string>> = {
  unknown_call: '`countersign inbox` lists what waits.',
  already_decided: 'Nothing was changed; `countersign show <turn>/<call>` shows its state.',
  stale_args:
    'The call is not what you saw any more; look at it again with `countersign show <turn>/<call>`.',
  validation: 'Correct it and send it again; the call is still open.',
  expired: 'It starts nothing. Ask the agent again if it is still wanted.',
  malformed: 'The request is still open; `countersign show <turn>/<call>` shows what fits.',
  cancelled: 'The turn was cancelled; nothing can be decided any more.',
  not_allowed: '`countersign approvers explain <turn>/<call>` says who may decide it, and why.',
};
