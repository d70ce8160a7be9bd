import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { ApplicationFailure, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { attributeKey, FAILURES, SCHEDULED_BY } from '../contract/names';
import { startOf, type TurnInput } from '../contract/turn';
import { whyUnreadable } from '../contract/unreadable';
import { fitting } from './publish';

/**
 * Checks how a turn or a session was started, since anybody may start one with any input. A wrong input fails the
 * workflow immediately, where an error would fail its tasks again and again. If another worker may be able to read
 * the input, the workflow waits for that worker: a worker that was started without its keys must not end a turn.
 */
export function checkStart(
  what: 'turn' | 'session',
  input: unknown,
  isInput: (input: unknown) => boolean,
): void {
  // A retried workflow would run everything again under new keys.
  if (workflowInfo().retryPolicy !== undefined)
    throw refused(`a ${what} takes no workflow retry policy: it would run its calls again`);
  const unreadable = whyUnreadable(input);
  if (unreadable?.waits === true)
    throw new Error(`the input of this ${what} cannot be read: ${unreadable.why}`);
  if (unreadable === undefined && isInput(input)) return;
  const [given, how] = what === 'turn' ? ['turns', '{ agent, prompt }'] : ['sessions', '{ agent }'];
  throw misfit(`this is not the input of a ${what}; start ${given} with the client, or with ${how}`);
}

/**
 * The error for an input that this build cannot take. If the run before passed it on, a newer build wrote it. The
 * task then fails and waits for that build, so that a deploy that is taken back ends nothing.
 */
export function misfit(message: string): Error {
  if (workflowInfo().continuedFromExecutionRunId === undefined) return refused(message);
  return new Error('another build passed on an input that this build does not know; it needs a newer worker');
}

function refused(message: string) {
  return ApplicationFailure.nonRetryable(message, FAILURES.turn);
}

const SCHEDULE = defineSearchAttributeKey(SCHEDULED_BY, SearchAttributeType.KEYWORD);

/**
 * Writes the memo and the search attributes of a start. A schedule that is not ours starts turns without them. Our
 * client writes them at the start of a turn, and into its own schedules.
 */
export function publishScheduled(input: TurnInput): void {
  const { typedSearchAttributes: set } = workflowInfo();
  if (set.get(SCHEDULE) === undefined || set.get(attributeKey('agent')) !== undefined) return;
  const { typedSearchAttributes, memo } = startOf(input, input.prompt);
  upsertSearchAttributes(
    typedSearchAttributes.map((pair) =>
      Array.isArray(pair.value) ? { key: attributeKey('metadata'), value: fitting(pair.value) } : pair,
    ),
  );
  upsertMemo(memo);
}
