import { setHandler, uuid4, workflowInfo } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import { type Accepted, isCallId, type SignalVerdict, type Verdict } from '../contract/decision';
import {
  type Decided,
  parseAbandonment,
  parseOutcome,
  type ReceivedMessage,
  refuse,
} from '../lifecycle/messages';
import type { Approvals } from '../lifecycle/state';
import { act, type ApprovalContext, carryOut, markChanged } from './call-life';
import { decide } from '../lifecycle/decide';
import { LIMITS } from '../contract/limits';
import { SIGNALS, UPDATES } from '../contract/names';
import type { MessageQueue } from './message-queue';
import {
  BOUNDS,
  type Bounds,
  onSignal,
  rawSignal,
  rawUpdate,
  readMessage,
  refusalFailure,
  takenOf,
  weightOf,
} from './messages';

const RUN_IS_FULL = `this run has taken ${LIMITS.runUpdates} updates; it takes only decisions and answers from now on`;

/** A kind of message that gets a verdict: its update and its signal. */
export interface VerdictMessage {
  /** What a message leads to at workflow time `now` (ms). */
  judge: (calls: Approvals, said: ReceivedMessage, now: number) => Decided;
  update: string;
  signal: string;
  bounds: Bounds;
  /** The description that Temporal's UI shows beside the update. */
  description: string;
}

/** The messages with which a person decides on a request. */
export const DECISION_MESSAGES: VerdictMessage = {
  judge: (calls, said, now) => decide(calls, { type: 'decision', ...said }, now),
  update: UPDATES.decide,
  signal: SIGNALS.approval,
  bounds: BOUNDS.decision,
  description: 'Decide on a request: approved, modified (with arguments) or denied',
};

/** The messages with which a person resolves a call in doubt. */
export const RESOLUTION_MESSAGES: VerdictMessage = {
  judge: (calls, said, now) => decide(calls, { type: 'resolution', ...said }, now),
  update: UPDATES.resolve,
  signal: SIGNALS.resolution,
  bounds: BOUNDS.resolution,
  description: 'Resolve a call in doubt: happened, did-not or run-again',
};

/**
 * The weight of a check against a schema, whatever it takes: if the weight followed the checker, a quicker checker
 * would write other commands than history has. A check takes 50 ms at most, so a task takes a second for its checks.
 */
const CHECK_WEIGHT = 125;

/** Whether a message settles something, or is a vote that counts towards it. A repeated message changes nothing. */
function settles({ events, verdict }: Exclude<Decided, { refused: object }>) {
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
  const { judge, description } = kind;
  const { runId } = workflowInfo();
  const validator = (message: RawValue) => {
    // The call that the message names is about to be registered, and the handler will judge the message.
    if (queue.isHeld) return;
    const read = readMessage(message, kind.bounds);
    if (!read.ok) throw refusalFailure(refuse('malformed', read.message, undefined));
    // A validator may not draw an id: the replay does not call it.
    const said = { message: read.value, newId: () => '', runId, isAgain: queue.isBeforeReset(taskNow()) };
    const judged = judge(context.approvals, said, Date.now());
    if (judged.refused !== undefined) throw refusalFailure(judged.refused);
    // The server takes only so many updates for one run. The last of them are for those that settle something.
    if (queue.answered >= LIMITS.runUpdates && !settles(judged))
      throw refusalFailure(refuse('not_allowed', RUN_IS_FULL, undefined));
  };
  const answer = (message: RawValue, arrivedIn: number): Verdict => {
    // A reset may come while the message waits to be judged.
    const isAgain = queue.isBeforeReset(arrivedIn);
    const read = readMessage(message, kind.bounds);
    markChanged(context);
    if (!read.ok) return refuse('malformed', read.message, undefined);
    const said = { message: read.value, newId: uuid4, runId, isAgain };
    const judged = carryOut(context, judge(context.approvals, said, Date.now()));
    if (judged.isChecked === true) queue.spend(CHECK_WEIGHT);
    return judged.refused ?? judged.verdict ?? refuse('malformed', 'nothing was said', read.value);
  };
  setHandler(
    rawUpdate<Accepted>(kind.update),
    (message) => {
      const task = taskNow();
      const taken = (): Accepted => takenOf(answer(message, task));
      return queue.answer(weightOf(message), taken);
    },
    { validator, description },
  );
  setHandler(
    rawSignal(kind.signal),
    (message) => {
      context.signalsWaiting += 1;
      const task = taskNow();
      const judgeIt = () => noteVerdict(context, answer(message, task), Date.now());
      queue.add({ weight: weightOf(message), judge: judgeIt });
    },
    { description: `${description.split(':')[0]} when no worker is up; the verdict is in the memo` },
  );
}

/** Keeps the verdict on a signal for the memo, because the sender of a signal does not get an answer. */
export function noteVerdict(context: ApprovalContext, verdict: Verdict, now: number): void {
  const line: SignalVerdict = {
    // A message that cannot be read may have any text as its call id.
    callId: isCallId(verdict.callId) ? verdict.callId : '',
    verdict: verdict.accepted ? 'accepted' : verdict.code,
    decisionId: verdict.decisionId ?? '',
    at: new Date(now).toISOString(),
    asksAgain: verdict.accepted && verdict.asksAgain === true ? (true as const) : undefined,
    stillWaits: verdict.accepted && verdict.needs !== undefined ? (true as const) : undefined,
  };
  context.signalCount += 1;
  context.signalsWaiting -= 1;
  context.signalVerdicts.push(line);
  if (context.signalVerdicts.length > LIMITS.memoVerdicts) context.signalVerdicts.shift();
}

/** The current workflow task, by the length of history in it. */
function taskNow() {
  return workflowInfo().historyLength;
}

/** Sets the handler of the signal that reports how a call ended after it had been given up. */
export function setOutcomeHandler(context: ApprovalContext, queue: MessageQueue): void {
  onSignal(queue, SIGNALS.outcome, (message) => {
    const read = readMessage(message, BOUNDS.outcome);
    const parsed = read.ok ? parseOutcome(read.value) : read;
    if (parsed.ok) act(context, { type: 'outcome', outcome: parsed.value });
  });
}

/** Sets the handler of the signal that ends a cancelled workflow although some of its calls are in doubt. */
export function setAbandonHandler(context: ApprovalContext, queue: MessageQueue): void {
  onSignal(queue, SIGNALS.abandon, (message) => abandon(context, message));
}

/**
 * Takes an abandonment. A message that cannot be read still abandons the turn, without a reason: its sender may signal
 * and wants the turn to end.
 */
function abandon(context: ApprovalContext, message: RawValue) {
  const read = readMessage(message, BOUNDS.abandonment);
  act(context, { type: 'abandon', by: parseAbandonment(read.ok ? read.value : undefined) });
}
