import { ApplicationFailure, setHandler, uuid4, workflowInfo } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { Accepted, Verdict } from '../contract/decision';
import { type ChangedTool, toolsHere } from '../contract/worker-tools';
import { type Decided, parseAbandonment, parseOutcome, refuse } from '../lifecycle/messages';
import { whyHeld } from '../lifecycle/move';
import { act, type ApprovalContext, markChanged } from './approvals';
import { decide } from '../lifecycle/decide';
import { LIMITS } from '../contract/limits';
import { FAILURES, QUERIES, SIGNALS, UPDATES } from '../contract/names';
import type { TurnRecord } from '../contract/session';
import type { TranscriptPage } from '../contract/transcript';
import { setAskHandlers } from './questions';
import { resetRun } from './current-build';
import type { MessageQueue } from './message-queue';
import * as messages from './messages';
import { addWords } from './session/words';
import { turnRecordOf } from './think';
import type { Turn } from './turn-state';
import { noteVerdict } from './signal-verdicts';

/**
 * Sets the handlers of a turn. The validator of an update refuses a message before history has it. A refused signal
 * leaves a verdict in the memo. All messages go through one queue, so they are judged in the order in which they
 * arrived.
 */
export function setHandlers(turn: Turn, queue: MessageQueue): void {
  setVerdictHandlers(turn, queue, DECISION_MESSAGES);
  setVerdictHandlers(turn, queue, RESOLUTION_MESSAGES);
  setVerdictHandlers(turn, queue, ANSWERS);
  messages.onSignal(queue, SIGNALS.outcome, (message) => applyLateOutcome(turn, message));
  setAbandonHandler(turn, queue);
  setMoveHandler(turn);
  setAskHandlers(turn, queue);
  messages.onSignal(
    queue,
    SIGNALS.words,
    (message) => addWords(turn, messages.readWords(message)),
    'New words of a person, which the model reads before its next step',
  );
  setHandler(messages.rawQuery<TurnRecord>(QUERIES.record), () => turnRecordOf(turn), {
    description: 'What a session keeps of this turn',
  });
  setHandler(messages.rawQuery<ChangedTool[]>(QUERIES.tools), () => changedTools(turn), {
    description: 'Requests whose tool has changed since, as far as this worker knows',
  });
  setHandler(
    messages.rawQuery<TranscriptPage>(QUERIES.transcript),
    (message) => turn.transcript.page(messages.firstAsked(message)),
    { description: 'The messages the model sees, a page at a time' },
  );
}

const RUN_IS_FULL = `this run has taken ${LIMITS.runUpdates} updates; it takes only decisions and answers from now on`;

const TOO_LARGE = 'its conversation and the results of this step are too large to go along';

/**
 * Sets the handler that moves a turn. Only the next run shows whether the turn moved, because a decision in the same
 * workflow task takes precedence.
 */
function setMoveHandler(turn: Turn): void {
  const validator = (): void => {
    const why = turn.tooLargeIn === turn.step ? TOO_LARGE : whyHeld(turn.approvals, resetRun() !== undefined);
    if (why !== undefined) throw ApplicationFailure.nonRetryable(why, FAILURES.held);
  };
  const move = (): void => {
    turn.isMoving = true;
    markChanged(turn);
  };
  const description = 'Go on in a new run on the current build; only while it waits for people';
  setHandler(messages.rawUpdate<void, []>(UPDATES.move), move, { validator, description });
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

/** A kind of message that gets a verdict: its update and its signal. */
interface VerdictMessage {
  type: 'decision' | 'resolution' | 'answer';
  update: string;
  signal: string;
  bounds: messages.Bounds;
  /** The description that Temporal's UI shows beside the update. */
  description: string;
  signalDescription: string;
}

/** The messages with which a person decides on a request. */
export const DECISION_MESSAGES: VerdictMessage = {
  type: 'decision',
  update: UPDATES.decide,
  signal: SIGNALS.approval,
  bounds: messages.DECISION_BOUNDS,
  description: 'Decide on a request: approved, modified (with arguments) or denied',
  signalDescription: 'Decide on a request when no worker is up; the verdict is in the memo',
};

/** The messages with which a person resolves a call in doubt. */
export const RESOLUTION_MESSAGES: VerdictMessage = {
  type: 'resolution',
  update: UPDATES.resolve,
  signal: SIGNALS.resolution,
  bounds: messages.RESOLUTION_BOUNDS,
  description: 'Resolve a call in doubt: happened, did-not or run-again',
  signalDescription: 'Resolve a call in doubt when no worker is up; the verdict is in the memo',
};

/** The messages with which a person answers a question. */
const ANSWERS: VerdictMessage = {
  type: 'answer',
  update: UPDATES.answer,
  signal: SIGNALS.answer,
  bounds: messages.ANSWER_BOUNDS,
  description: 'Answer a question: answered (with content) or declined',
  signalDescription: 'Answer a question when no worker is up; the verdict is in the memo',
};

/**
 * The weight of a check against a schema, whatever it takes: if the weight followed the checker, a quicker checker
 * would write other commands than history has. A check takes 50 ms at most, so a task takes a second for its checks.
 */
const CHECK_WEIGHT = 125;

/** Whether a message settles something, or is a vote that counts towards it. A repeated message changes nothing. */
function settles({ events, verdict }: Exclude<Decided, { refused: object }>): boolean {
  return events.length > 0 && verdict?.asksAgain !== true && verdict?.decision !== 'withdrawn';
}

/**
 * Sets the handlers for one kind of message. The validator of its update refuses a message before history has it. The
 * verdict on its signal goes into the memo. A message is judged as a whole: immediately, or later if many messages
 * arrived.
 */
export function setVerdictHandlers(
  context: ApprovalContext,
  queue: MessageQueue,
  kind: VerdictMessage,
): void {
  const { type, description, signalDescription } = kind;
  const { runId } = workflowInfo();
  const validator = (message: RawValue): void => {
    // The call that the message names is about to be registered, and the handler will judge the message.
    if (queue.isHeld) return;
    const read = messages.readMessage(message, kind.bounds);
    if (!read.ok) throw messages.refusalFailure(refuse('malformed', read.message, undefined));
    // A validator may not draw an id: the replay does not call it.
    const said = { message: read.value, newId: () => '', runId, isAgain: queue.isBeforeReset(taskNow()) };
    const judged = decide(context.approvals, { type, ...said }, Date.now());
    if (judged.refused !== undefined) throw messages.refusalFailure(judged.refused);
    // The server takes only so many updates for one run. The last of them are for those that settle something.
    if (queue.answered >= LIMITS.runUpdates && !settles(judged))
      throw messages.refusalFailure(refuse('not_allowed', RUN_IS_FULL, undefined));
  };
  const answer = (message: RawValue, arrivedIn: number): Verdict => {
    // A reset may come while the message waits to be judged.
    const isAgain = queue.isBeforeReset(arrivedIn);
    const read = messages.readMessage(message, kind.bounds);
    markChanged(context);
    if (!read.ok) return refuse('malformed', read.message, undefined);
    const judged = act(context, { type, message: read.value, newId: uuid4, runId, isAgain });
    if (judged.isChecked === true) queue.spend(CHECK_WEIGHT);
    return judged.refused ?? judged.verdict ?? refuse('malformed', 'nothing was said', read.value);
  };
  setHandler(
    messages.rawUpdate<Accepted>(kind.update),
    (message) => {
      const task = taskNow();
      const taken = (): Accepted => messages.takenOf(answer(message, task));
      return queue.answer(messages.weightOf(message), taken);
    },
    { validator, description },
  );
  setHandler(
    messages.rawSignal(kind.signal),
    (message) => {
      context.signalsWaiting += 1;
      const task = taskNow();
      const judgeIt = (): void => noteVerdict(context, answer(message, task), Date.now());
      queue.add({ weight: messages.weightOf(message), judge: judgeIt });
    },
    { description: signalDescription },
  );
}

/** The current workflow task, by the length of history in it. */
function taskNow(): number {
  return workflowInfo().historyLength;
}

function applyLateOutcome(turn: Turn, message: RawValue): void {
  const read = messages.readMessage(message, messages.OUTCOME_BOUNDS);
  const parsed = read.ok ? parseOutcome(read.value) : read;
  if (parsed.ok) act(turn, { type: 'outcome', outcome: parsed.value });
}

/** Sets the handler of the signal that ends a cancelled workflow although some of its calls are in doubt. */
export function setAbandonHandler(context: ApprovalContext, queue: MessageQueue): void {
  messages.onSignal(queue, SIGNALS.abandon, (message) => abandon(context, message));
}

/**
 * Takes an abandonment. A message that cannot be read still abandons the turn, without a reason: its sender may signal
 * and wants the turn to end.
 */
function abandon(context: ApprovalContext, message: RawValue): void {
  const read = messages.readMessage(message, messages.ABANDONMENT_BOUNDS);
  act(context, { type: 'abandon', by: parseAbandonment(read.ok ? read.value : undefined) });
}
