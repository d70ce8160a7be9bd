import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import { type ChangedTool, toolsHere } from '../contract/worker-tools';
import { decideAnswer } from '../lifecycle/answers';
import { whyHeld } from '../lifecycle/move';
import { markChanged } from './call-life';
import { FAILURES, QUERIES, SIGNALS, UPDATES } from '../contract/names';
import type { TurnRecord } from '../contract/session';
import type { TranscriptPage } from '../contract/transcript';
import { setAskHandlers } from './questions';
import { resetRun } from './current-build';
import type { MessageQueue } from './message-queue';
import { BOUNDS, firstAsked, onSignal, rawQuery, rawUpdate } from './messages';
import { addWords, readWords } from './session/words';
import { turnRecordOf } from './think';
import type { Turn } from './turn-state';
import {
  DECISION_MESSAGES,
  RESOLUTION_MESSAGES,
  setAbandonHandler,
  setOutcomeHandler,
  setVerdictHandlers,
  type VerdictMessage,
} from './verdict-handlers';

/** The messages with which a person answers a question. */
const ANSWERS: VerdictMessage = {
  judge: decideAnswer,
  update: UPDATES.answer,
  signal: SIGNALS.answer,
  bounds: BOUNDS.answer,
  description: 'Answer a question: answered (with content) or declined',
};

/**
 * Sets the handlers of a turn. The validator of an update refuses a message before history has it. A refused signal
 * leaves a verdict in the memo. All messages go through one queue, so they are judged in the order in which they
 * arrived.
 */
export function setHandlers(turn: Turn, queue: MessageQueue): void {
  setVerdictHandlers(turn, queue, DECISION_MESSAGES);
  setVerdictHandlers(turn, queue, RESOLUTION_MESSAGES);
  setVerdictHandlers(turn, queue, ANSWERS);
  setOutcomeHandler(turn, queue);
  setAbandonHandler(turn, queue);
  setMoveHandler(turn);
  setAskHandlers(turn, queue);
  onSignal(
    queue,
    SIGNALS.words,
    (message) => addWords(turn, readWords(message)),
    'New words of a person, which the model reads before its next step',
  );
  setHandler(rawQuery<TurnRecord>(QUERIES.record), () => turnRecordOf(turn), {
    description: 'What a session keeps of this turn',
  });
  setHandler(rawQuery<ChangedTool[]>(QUERIES.tools), () => changedTools(turn), {
    description: 'Requests whose tool has changed since, as far as this worker knows',
  });
  setHandler(
    rawQuery<TranscriptPage>(QUERIES.transcript),
    (message) => turn.transcript.page(firstAsked(message)),
    { description: 'The messages the model sees, a page at a time' },
  );
}

const TOO_LARGE = 'its conversation and the results of this step are too large to go along';

/**
 * Sets the handler that moves a turn. Only the next run shows whether the turn moved, because a decision in the same
 * workflow task takes precedence.
 */
function setMoveHandler(turn: Turn) {
  const validator = () => {
    const why = turn.tooLargeIn === turn.step ? TOO_LARGE : whyHeld(turn.approvals, resetRun() !== undefined);
    if (why !== undefined) throw ApplicationFailure.nonRetryable(why, FAILURES.held);
  };
  const move = () => {
    turn.isMoving = true;
    markChanged(turn);
  };
  const description = 'Go on in a new run on the current build; only while it waits for people';
  setHandler(rawUpdate<void, []>(UPDATES.move), move, { validator, description });
}

/**
 * The requests whose tool has changed. Tools of other task queues are left out, because this worker may have another
 * version of them.
 */
function changedTools({ agent, approvals }: Turn): ChangedTool[] {
  const here = toolsHere(agent);
  if (here === undefined) return [];
  return [...approvals.calls.values()].flatMap(({ call, phase }): ChangedTool[] => {
    const { callId, tool, toolDigest, settings } = call;
    if (phase !== 'request' || settings.taskQueue !== undefined || here[tool] === toolDigest) return [];
    return [{ callId, now: Object.hasOwn(here, tool) ? 'changed' : 'gone' }];
  });
}
