import {
  ApplicationFailure,
  setHandler,
  type SignalDefinition,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue, UpdateDefinition } from '@temporalio/common';
import {
  type Accepted,
  asksAgainAfterEdit,
  type Decision,
  type QuestionAnswer,
  type Resolution,
  type Verdict,
} from '../contract/decision';
import { type ChangedTool, toolsHere } from '../contract/worker-tools';
import { takeOutcome } from './approvals/doubts';
import { judgeAnswer, takeAnswer } from './approvals/judge-answer';
import { judgeDecision, takeDecision } from './approvals/judge-decision';
import {
  type Judged,
  parseAbandonment,
  parseOutcome,
  refusal,
  refuse,
  type TakenAt,
} from './approvals/messages';
import { isVoidAfterReset } from './approvals/after-reset';
import { judgeResolution, takeResolution } from './approvals/judge-resolution';
import { type ApprovalContext, type Approvals, markChanged } from './approvals/state';
import { DECIDED_BEFORE } from '../contract/call-texts';
import { LIMITS } from '../contract/limits';
import { FAILURES } from '../contract/names';
import { setAskHandlers } from './questions';
import { whyHeld } from './approvals/move-to-new-code';
import { resetRun } from './current-build';
import type { MessageQueue } from './message-queue';
import * as messages from './messages';
import { addWords } from './session/words';
import { turnRecordOf } from './think';
import type { Turn } from './turn-state';
import { takeAbandonment } from './approvals/abandon';
import { noteVerdict } from './approvals/signal-verdicts';

/**
 * Sets the handlers of a turn. The validator of an update refuses a message before history has it. A refused signal
 * leaves a verdict in the memo. All messages go through one queue, so they are judged in the order in which they
 * arrived.
 */
export function setHandlers(turn: Turn, queue: MessageQueue): void {
  setVerdictHandlers(turn, queue, DECISION_MESSAGES);
  setVerdictHandlers(turn, queue, RESOLUTION_MESSAGES);
  setVerdictHandlers(turn, queue, ANSWERS);
  setHandler(messages.outcomeSignal, (message) =>
    queue.add({ weight: messages.weightOf(message), judge: () => applyLateOutcome(turn, message) }),
  );
  setAbandonHandler(turn, queue);
  setMoveHandler(turn);
  setAskHandlers(turn, queue);
  setHandler(
    messages.wordsSignal,
    (message) =>
      queue.add({
        weight: messages.weightOf(message),
        judge: () => addWords(turn, messages.readWords(message)),
      }),
    { description: 'New words of a person, which the model reads before its next step' },
  );
  setHandler(messages.recordQuery, () => turnRecordOf(turn), {
    description: 'What a session keeps of this turn',
  });
  setHandler(messages.toolsQuery, () => changedTools(turn), {
    description: 'Requests whose tool has changed since, as far as this worker knows',
  });
  setHandler(messages.transcriptQuery, (message) => turn.transcript.page(messages.firstAsked(message)), {
    description: 'The messages the model sees, a page at a time',
  });
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
  setHandler(messages.moveUpdate, move, { validator, description });
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

/** A kind of message that gets a verdict: its update and signal, and the functions that judge and take it. */
interface VerdictMessage<M> {
  update: UpdateDefinition<Accepted, [RawValue]>;
  signal: SignalDefinition<[RawValue]>;
  bounds: messages.Bounds;
  judge(approvals: Approvals, message: unknown, now: number): Judged<M>;
  take(approvals: Approvals, taken: Extract<Judged<M>, { kind: 'take' }>, at: TakenAt): Accepted;
  /** Whether a message settles something, or is a vote that counts towards it. */
  settles(taken: Pick<Extract<Judged<M>, { kind: 'take' }>, 'message' | 'state'>): boolean;
  /** The description that Temporal's UI shows beside the update. */
  description: string;
  signalDescription: string;
}

/** The messages with which a person decides on a request. */
export const DECISION_MESSAGES: VerdictMessage<Decision> = {
  update: messages.decideUpdate,
  signal: messages.approvalSignal,
  bounds: messages.DECISION_BOUNDS,
  judge: judgeDecision,
  take: takeDecision,
  settles: ({ message: { decision }, state: { call } }) =>
    decision === 'modified' ? !asksAgainAfterEdit(call) : decision === 'approved' || decision === 'denied',
  description: 'Decide on a request: approved, modified (with arguments) or denied',
  signalDescription: 'Decide on a request when no worker is up; the verdict is in the memo',
};

/** The messages with which a person resolves a call in doubt. */
export const RESOLUTION_MESSAGES: VerdictMessage<Resolution> = {
  update: messages.resolveUpdate,
  signal: messages.resolutionSignal,
  bounds: messages.RESOLUTION_BOUNDS,
  judge: judgeResolution,
  take: takeResolution,
  settles: () => true,
  description: 'Resolve a call in doubt: happened, did-not or run-again',
  signalDescription: 'Resolve a call in doubt when no worker is up; the verdict is in the memo',
};

/** The messages with which a person answers a question. */
const ANSWERS: VerdictMessage<QuestionAnswer> = {
  update: messages.answerUpdate,
  signal: messages.answerSignal,
  bounds: messages.ANSWER_BOUNDS,
  judge: judgeAnswer,
  take: takeAnswer,
  settles: () => true,
  description: 'Answer a question: answered (with content) or declined',
  signalDescription: 'Answer a question when no worker is up; the verdict is in the memo',
};

/**
 * The weight of a check against a schema, whatever it takes: if the weight followed the checker, a quicker checker
 * would write other commands than history has. A check takes 50 ms at most, so a task takes a second for its checks.
 */
const CHECK_WEIGHT = 125;

/**
 * Sets the handlers for one kind of message. The validator of its update refuses a message before history has it. The
 * verdict on its signal goes into the memo. A message is judged as a whole: immediately, or later if many messages
 * arrived.
 */
export function setVerdictHandlers<M extends { decisionId?: string; runId?: string }>(
  context: ApprovalContext,
  queue: MessageQueue,
  kind: VerdictMessage<M>,
): void {
  const { description, signalDescription } = kind;
  const judge = (message: RawValue, isAgain = queue.mayBeAgain): Judged<M> => {
    const read = messages.readMessage(message, kind.bounds);
    if (!read.ok) return { kind: 'refuse', refused: refuse('malformed', read.message, undefined) };
    const judged = kind.judge(context.approvals, read.value, Date.now());
    const isVoid = isAgain && judged.kind === 'take' && isVoidAfterReset(judged.state);
    return isVoid
      ? refusal(refuse('stale_args', `${DECIDED_BEFORE}; look again and decide anew`, read.value))
      : judged;
  };
  const answer = (message: RawValue, isAgain: boolean): Verdict => {
    const judged = judge(message, isAgain);
    markChanged(context);
    if (judged.kind === 'repeat') return judged.spent.verdict;
    if (judged.isChecked === true) queue.spend(CHECK_WEIGHT);
    if (judged.kind === 'refuse') return judged.refused;
    const decisionId = judged.message.decisionId ?? uuid4();
    const verdict = kind.take(context.approvals, judged, { now: Date.now(), decisionId });
    const { runId } = workflowInfo();
    const isOld = isAgain || (judged.message.runId ?? runId) !== runId;
    if (isOld && judged.state.held !== undefined) judged.state.held.isOld = true;
    return verdict;
  };
  const validator = (message: RawValue): void => {
    // The call that the message names is about to be registered, and the handler will judge the message.
    if (queue.isHeld) return;
    const judged = judge(message);
    if (judged.kind === 'refuse') throw messages.refusalFailure(judged.refused);
    // The server takes only so many updates for one run. The last of them are for those that settle something.
    const settles = judged.kind === 'take' && kind.settles(judged);
    if (queue.answered >= LIMITS.runUpdates && !settles)
      throw messages.refusalFailure(refuse('not_allowed', RUN_IS_FULL, undefined));
  };
  setHandler(
    kind.update,
    (message) => {
      const isAgain = queue.mayBeAgain;
      const taken = (): Accepted => messages.takenOf(answer(message, isAgain));
      return queue.answer(messages.weightOf(message), taken);
    },
    { validator, description },
  );
  setHandler(
    kind.signal,
    (message) => {
      context.signalsWaiting += 1;
      const isAgain = queue.mayBeAgain;
      const judgeIt = (): void => noteVerdict(context, answer(message, isAgain), Date.now());
      queue.add({ weight: messages.weightOf(message), judge: judgeIt });
    },
    { description: signalDescription },
  );
}

function applyLateOutcome(turn: Turn, message: RawValue): void {
  const read = messages.readMessage(message, messages.OUTCOME_BOUNDS);
  const parsed = read.ok ? parseOutcome(read.value) : read;
  if (parsed.ok && takeOutcome(turn.approvals, parsed.value)) markChanged(turn);
}

/** Sets the handler of the signal that ends a cancelled workflow although some of its calls are in doubt. */
export function setAbandonHandler(context: ApprovalContext, queue: MessageQueue): void {
  setHandler(messages.abandonSignal, (message) =>
    queue.add({ weight: messages.weightOf(message), judge: () => abandon(context, message) }),
  );
}

/**
 * Takes an abandonment. A message that cannot be read still abandons the turn, without a reason: its sender may signal
 * and wants the turn to end.
 */
function abandon(context: ApprovalContext, message: RawValue): void {
  const read = messages.readMessage(message, messages.ABANDONMENT_BOUNDS);
  takeAbandonment(context.approvals, parseAbandonment(read.ok ? read.value : undefined), Date.now());
  markChanged(context);
}
