import type { Answer } from '../client';
import { CountersignError } from '../contract/errors';
import type { Accepted, Refused } from '../contract/decision';
import type { Screen } from './print/screen';
import { visible } from './print/visible';

/** What the answer is about. */
export interface Asked {
  /** `<turn>/<call>`. */
  id: string;
  json: boolean;
}

/**
 * Prints what became of a decision or resolution.
 *
 * @throws CountersignError `decision_refused` for a refusal.
 */
export function reportAnswer(answer: Answer, { id, json }: Asked, screen: Screen): void {
  if (json) screen.json(answer);
  assertTaken(answer, id);
  if (json) return;
  if (answer.status === 'accepted') screen.lines(acceptedLines(id, answer.verdict, screen));
  else screen.line(screen.style.warn(`${id} recorded; it takes effect when a worker returns`));
}

/** @throws CountersignError `decision_refused` for a refusal, with its code and what is wrong. */
export function assertTaken(
  answer: Answer,
  id: string,
): asserts answer is Exclude<Answer, { status: 'refused' }> {
  if (answer.status === 'refused') throw refusal(id, answer.verdict);
}

function acceptedLines(id: string, { decision, approver, asksAgain }: Accepted, { style }: Screen): string[] {
  const line = `${id} ${decision} by ${visible(approver)}`;
  if (asksAgain !== true) return [decision === 'denied' ? style.bad(line) : style.good(line)];
  return [
    style.warn(line),
    'A new proposal is made from your arguments. It waits for a decision of its own, because nobody saw it yet.',
  ];
}

function refusal(id: string, verdict: Refused): CountersignError {
  const { code, message, issues = [], standing } = verdict;
  const told = issues
    .filter((issue) => !message.includes(issue.message))
    .map((issue) => `  ${issue.path || '(root)'}: ${issue.message}`);
  const stands =
    standing === undefined
      ? []
      : [`It stands as ${standing.decision} by ${standing.approver} at ${standing.at}.`];
  return new CountersignError(
    'decision_refused',
    [`${id} was refused, ${code}: ${message}`, ...told, ...stands].join('\n'),
    { hint: HINTS[code], data: { verdict } },
  );
}

const HINTS: Readonly<Record<Refused['code'], string>> = {
  unknown_call: '`countersign inbox` lists what waits.',
  already_decided: 'The first valid decision wins; nothing was changed.',
  stale_args:
    'The call is not what you saw any more; look at it again with `countersign show <turn>/<call>`.',
  invalid_arguments: 'Correct the arguments and decide again; the request is still open.',
  expired: 'Nothing ran. Ask the agent again if it is still wanted.',
  malformed: 'The request is still open; `countersign show <turn>/<call>` tells what fits.',
  cancelled: 'The turn was cancelled; nothing can be decided any more.',
  not_in_doubt: 'Only a call in doubt can be resolved; `countersign show <turn>/<call>` tells where it is.',
};
