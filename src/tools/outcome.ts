import { saysMayHaveRun } from '../contract/call-texts';
import { LIMITS } from '../contract/limits';
import {
  makeFailure,
  makeSuccess,
  type ResultContent,
  type ResultFacts,
  type ResultHead,
  type ToolFailure,
  type ToolResult,
} from '../contract/result';
import { cutContent } from '../contract/transcript';
import { cutOutput } from './cut-output';
import { describeFailure, formatResult, messageOf } from './format-result';
import { isNetworkError, isToolError, isTransportError, provenBy } from './errors';
import type { Ending, Finished, InterruptedRun } from './run-handler';

/** How one execution ended. */
export interface RunOutcome {
  result: ToolResult;
  /** Whether the failure allows another attempt. Does not take the tool's effect into account. */
  retryable: boolean;
  /** False: the handler may still have, or have had, its effect. */
  outcomeKnown: boolean;
  /** Whether the handler was started, and whether it has ended. */
  handler: 'ended' | 'running' | 'unstarted';
}

/** The facts for a result besides the ending itself. */
export interface OutcomeFacts {
  head: ResultHead;
  facts: FactsNow;
  limitBytes: number;
  timeoutMs: number;
  /** Whether the tool's effect is `unsafe`. If so, the result says when it is not known whether a call had effect. */
  unsafe: boolean;
  /** Whether an earlier attempt may have run. If so, no result says that nothing was done. */
  ranBefore: boolean;
  /** Removes secrets from the handler's result. Its partial output is already free of secrets. */
  hide(text: string): string;
}

/** Turns an ending into a result. This is the only place where this happens. Never throws. */
export function toOutcome(ending: Ending, about: OutcomeFacts): RunOutcome {
  const outcome = outcomeOf(ending, about);
  const content = cutContent(outcome.result.content, LIMITS.resultContentBytes);
  return { ...outcome, result: { ...outcome.result, content } };
}

function outcomeOf(ending: Ending, about: OutcomeFacts): RunOutcome {
  const known = { outcomeKnown: isKnown(ending), handler: handlerAfter(ending) };
  if (ending.kind === 'returned') return { result: returned(ending, about), retryable: false, ...known };
  if (ending.kind === 'threw') return { ...thrown(ending, about), ...known };
  return { result: ended(ending, about), retryable: false, ...known };
}

function handlerAfter(ending: Ending): RunOutcome['handler'] {
  if (!('late' in ending)) return 'ended';
  if (!ending.started) return 'unstarted';
  return ending.finished === undefined ? 'running' : 'ended';
}

/**
 * The only rule that decides whether the outcome of a call is known.
 * - Known are: a return, also a late one; a throw before our abort, unless the connection to the other side broke; the
 * end of a call that was never started.
 * - After our abort a throw says nothing: `fetch` rejects then at once, whatever the other side does. Only an error
 *   that proves an outcome makes it known.
 */
function isKnown(ending: Ending) {
  if (ending.kind === 'returned') return true;
  if (ending.kind === 'threw') return !isLostOnTheWay(ending.error);
  if (!ending.started) return true;
  const { finished } = ending;
  return finished?.kind === 'returned' || (finished !== undefined && provenBy(finished.error) !== undefined);
}

function isLostOnTheWay(error: unknown) {
  if (provenBy(error) !== undefined) return false;
  return isTransportError(error) ? !error.nothingSent : isNetworkError(error);
}

function returned(
  { value }: Extract<Finished, { kind: 'returned' }>,
  { head, facts, limitBytes, hide }: OutcomeFacts,
) {
  return successResult(head, formatResult(value, hide), { ...facts, limitBytes });
}

function thrown(
  { error, partial = '' }: Extract<Finished, { kind: 'threw' }>,
  { head, facts, unsafe, ranBefore, hide }: OutcomeFacts,
) {
  const failure = describeFailure(error, hide);
  // The proof is about this attempt only.
  if (ranBefore && provenBy(error) === 'nothing_done') failure.message = saysMayHaveRun(failure.message);
  const isInDoubt = unsafe && isLostOnTheWay(error);
  const message = isInDoubt ? `${failure.message.replace(/\.$/, '')}; ${UNKNOWN}` : failure.message;
  const result = failureResult(head, { ...failure, message }, { ...facts, partial });
  return { result, retryable: (isTransportError(error) || isToolError(error)) && error.retryable };
}

const UNKNOWN = 'whether it took effect is not known';

function ended(ending: InterruptedRun, about: OutcomeFacts): ToolResult {
  const { finished } = ending;
  if (finished?.kind === 'returned')
    return markLate(
      returned(finished, about),
      ending.kind === 'timeout' ? 'its time was over' : 'it was asked to stop',
    );
  const { head, facts, limitBytes } = about;
  const partial = cutOutput(finished?.partial ?? ending.partial, limitBytes);
  return failureResult(
    head,
    { code: ending.kind, message: endMessage(ending, about) },
    { ...facts, partial },
  );
}

function endMessage(ending: InterruptedRun, { timeoutMs, unsafe, ranBefore, hide }: OutcomeFacts) {
  if (!ending.started) return 'cancelled before it started; nothing ran';
  const why = ending.kind === 'timeout' ? `timed out after ${timeoutMs} ms` : 'cancelled while it ran';
  const parts = [
    why,
    ...statedEnd(ending.finished, { ranBefore, hide }),
    ...(unsafe && !isKnown(ending) ? [UNKNOWN] : []),
  ];
  return parts.join('; ');
}

/**
 * The tool's own words about its end. Errors that the tool did not make for this are left out: they only say that the
 * work was aborted.
 */
function statedEnd(
  finished: Finished | undefined,
  { ranBefore, hide }: Pick<OutcomeFacts, 'ranBefore' | 'hide'>,
) {
  if (finished?.kind !== 'threw') return [];
  const { error } = finished;
  const proven = provenBy(error);
  if (proven === undefined && !isToolError(error) && !isTransportError(error)) return [];
  const said = messageOf(error, hide);
  if (proven === 'nothing_done' && ranBefore) return ['this attempt did nothing', saysMayHaveRun(said)];
  return [...(proven === undefined ? [] : [PROVEN_TEXT[proven]]), said];
}

const PROVEN_TEXT: Readonly<Record<NonNullable<ReturnType<typeof provenBy>>, string>> = {
  nothing_done: 'nothing was done',
  stopped: 'it was stopped, and a part of its work may be done',
};

/** Marks a success as late, for the model and for people. `after` says what had happened before the success. */
export function markLate(result: ToolResult, after: string): ToolResult {
  if (result.metadata.late === true) return result;
  const content = `[Late: this call succeeded, but only after ${after}.]\n\n${result.content}`;
  return { ...result, content, contentType: 'text', metadata: { ...result.metadata, late: true } };
}

/** The facts of a result that is made now, so without a timestamp. */
type FactsNow = Omit<ResultFacts, 'timestamp'>;

/** The result of a handler that returned; its text is cut to `limitBytes`. */
function successResult(
  head: ResultHead,
  { content, ...output }: ResultContent,
  options: FactsNow & { limitBytes: number },
): ToolResult {
  const { limitBytes, ...facts } = options;
  return makeSuccess(
    head,
    { content: cutOutput(content, limitBytes), ...output },
    { ...facts, timestamp: now() },
  );
}

/** The result of a call that failed now, or never ran. */
export function failureResult(head: ResultHead, failure: ToolFailure, facts: FactsNow = {}): ToolResult {
  return makeFailure(head, failure, { ...facts, timestamp: now() });
}

function now() {
  return new Date().toISOString();
}
