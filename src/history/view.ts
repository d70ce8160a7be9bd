import {
  type Answered,
  type CallEnded,
  type CallHeader,
  type CallLost,
  type CallStarted,
  type DecisionMade,
  type Forked,
  type ProposedCall,
  type RequestOpened,
  type Resolved,
  type Step,
  type ThinkRetried,
  type TurnEnded,
  type TurnEvent,
  type TurnStarted,
  type Verified,
  withoutUndone,
} from './events';
import {
  type CallView,
  isWaiting,
  type LiveView,
  makeView,
  statusOf,
  type TurnView,
  waitingEvent,
} from './view-types';
import { effectOfDecision, takesEffect } from './decisions';
import { addSpent, noSpending, raised, smallerOf, spentInReply } from '../contract/spending/budget';
import { VOTED_BEFORE } from '../contract/call-texts';
import { kindOfResult } from '../contract/result';
import { RAISE_BUDGET, stepOfCall } from '../contract/names';
import { defined } from '../contract/defined';
import { withDefaults } from '../contract/schema/schema';

export { keyOfStart } from './view-types';
export type { CallView, LiveView, StepView, ThinkingView, TurnView } from './view-types';

/** Makes a view of a turn without events. */
export function createView(): LiveView {
  let events: TurnEvent[] = [];
  let view = makeView();
  return {
    push(event) {
      if (event.type === 'reset') {
        events = withoutUndone(events, event.eventId);
        view = makeView();
        for (const one of events) apply(view, one);
      }
      events.push(event);
      apply(view, event);
    },
    current: () => view,
  };
}

/** The view of a turn's events. */
export function viewOf(events: Iterable<TurnEvent>): TurnView {
  const live = createView();
  for (const event of events) live.push(event);
  return live.current();
}

function apply(view: TurnView, event: TurnEvent) {
  viewRun(view, event);
  viewCall(view, event);
  viewDecision(view, event);
  // Only these events open anything. Looking through every call after every event would take quadratic time in a long
  // turn.
  const opens = ['request_opened', 'question_opened', 'in_doubt'].includes(event.type);
  if (opens || view.requests.length + view.questions.length + view.inDoubt.length > 0) findOpen(view);
  if (view.endedAt === null) view.status = statusOf(view);
}

/** Takes an event that concerns the turn as a whole. */
function viewRun(view: TurnView, event: TurnEvent) {
  switch (event.type) {
    case 'turn_started':
      return started(view, event);
    case 'about':
      return void (view.prompt = event.prompt);
    case 'forked':
      return forked(view, event);
    case 'reset':
      return reopened(view, event.newRunId);
    case 'thinking':
      return void (view.thinking = { step: event.step, askedAt: event.at, attempts: 1 });
    case 'think_retried':
      return askedAgain(view, event);
    case 'step':
      return stepped(view, event);
    case 'cancel_requested':
      return void (view.cancelRequested = true);
    case 'abandoned':
      return void (view.abandoned = true);
    case 'signal_recorded':
      return void (view.unjudged += 1);
    case 'turn_ended':
      return ended(view, event);
  }
}

/**
 * Takes the start of a run. A run that continues the previous run changes only the run. When a turn moves, a call that
 * waits still waits until it is prepared anew.
 */
function started(view: TurnView, event: TurnStarted) {
  const { turn, runId, agent, prompt, files, origin, schedule, session, taskQueue, lineage, budget } = event;
  const facts = { files, origin, schedule, session, lineage };
  Object.assign(view, { turn, runId, agent, prompt, taskQueue, ...facts });
  if (view.budget === undefined && budget !== undefined) view.budget = budget;
  if (view.startedAt === '') view.startedAt = event.at;
}

function forked(view: TurnView, event: Forked) {
  const { type: _type, eventId: _id, at: _at, ...fork } = event;
  view.fork = fork;
}

function reopened(view: TurnView, runId: string) {
  view.runId = runId;
  for (const call of view.calls) if (call.votes.length > 0 && isWaiting(call)) votesVoided(call);
  view.endedAt = null;
  delete view.answer;
  delete view.value;
  delete view.error;
}

/** Votes are for the run in which they were cast. The turn says so beside the request. */
function votesVoided(call: CallView) {
  call.votes = [];
  if (call.request !== undefined) call.request = { ...call.request, note: VOTED_BEFORE };
}

function askedAgain({ thinking }: TurnView, { step, attempt, lastFailure }: ThinkRetried) {
  if (thinking?.step !== step) return;
  Object.assign(thinking, defined({ attempts: attempt, lastFailure }));
}

function stepped(view: TurnView, event: Step) {
  const { step, text, model, finishReason, notes, usage, context, calls, at, given } = event;
  if (given === undefined) view.spent = addSpent(view.spent ?? noSpending(), spentInReply(event));
  if (event.budget !== undefined && view.steps.length === 0)
    view.budget = smallerOf(event.budget, view.budget);
  const { askedAt = at, attempts = 1, lastFailure } = view.thinking ?? {};
  const reply = { step, text, model, finishReason, askedAt, repliedAt: at, attempts };
  const callIds = calls.map(({ callId }) => callId);
  view.steps.push({ ...reply, callIds, notes, usage, context, lastFailure, given });
  delete view.thinking;
}

function ended(view: TurnView, event: TurnEnded) {
  view.status = event.status;
  view.endedAt = event.at;
  view.unjudged = 0;
  const { answer, error, result } = event;
  if (result?.spent !== undefined) view.spent = result.spent;
  Object.assign(view, defined({ answer, error, value: result?.value }));
  for (const call of view.calls) call.phase = 'done';
}

/** Takes an event of a call, except what people say. */
function viewCall(view: TurnView, event: TurnEvent) {
  switch (event.type) {
    case 'step':
      view.calls.push(...event.calls.map((call) => callView(call, event.step)));
      return;
    case 'call_prepared':
      return withCall(view, { ...event, tool: event.call.tool }, (call) => prepared(call, event.call));
    case 'request_opened':
      return withCall(view, event, (call) => requested(call, event));
    case 'question_opened':
      return withCall(view, event, (call) => void (call.question = event));
    case 'decision_void':
      return withCall(view, event, callReopened);
    case 'request_escalated':
      return withCall(view, event, (call) => void (call.isEscalated = true));
    case 'request_expired':
      return withCall(view, event, () => undefined);
    case 'call_started':
      return withCall(view, event, (call) => callStarted(call, event));
    case 'call_lost':
      return withCall(view, event, (call) => callLost(call, event));
    case 'in_doubt':
      return withCall(view, event, (call) => void (call.doubt = event));
    case 'verified':
      return withCall(view, event, (call) => verified(call, event));
    case 'child_started':
      return withCall(view, event, (call) => void (call.child = event.child));
    case 'call_ended':
      if (event.tool === RAISE_BUDGET && event.result.success)
        view.budget = raised(view.budget, event.result.arguments);
      return withCall(view, event, (call) => callEnded(call, event));
  }
}

/** Changes the call of an event. The call is made up if its step could not be read. */
function withCall(
  view: TurnView,
  { callId, tool = '', now }: CallHeader & { tool?: string },
  change: (call: CallView) => void,
) {
  let call = view.calls.findLast((one) => one.callId === callId);
  if (call === undefined) {
    call = callView({ callId, id: callId, tool, kind: 'run', arguments: {} }, stepOfCall(callId));
    view.calls.push(call);
  }
  change(call);
  Object.assign(call, now);
}

function prepared(call: CallView, { arguments: args, ruling }: ProposedCall) {
  if (call.request === undefined) call.arguments = args;
  call.effective = args;
  Object.assign(call, defined({ ruling }));
}

/** A decision did not hold: nothing ran, and the call waits for a decision that counts. */
function callReopened(call: CallView) {
  delete call.settledBy;
  delete call.resolvedBy;
  delete call.approved;
  delete call.grant;
  delete call.startedAt;
}

/** Takes a request. With a note, the request is the same as before. */
function requested(call: CallView, event: RequestOpened) {
  if (event.note === undefined) delete call.isEscalated;
  call.request = event;
  call.effective = event.arguments;
}

/** The doubt about an earlier start says nothing about this one. */
function callLost(call: CallView, event: CallLost) {
  delete call.doubt;
  Object.assign(call, grantOf(event));
}

/** What the check of a call in doubt found out, for the person who resolves it. */
function verified(call: CallView, { outcome, message }: Verified) {
  if (call.doubt === undefined || outcome !== 'cannot_tell' || message === undefined) return;
  call.doubt = { ...call.doubt, message: `${call.doubt.message}; ${message}` };
}

function callStarted(call: CallView, event: CallStarted) {
  call.effective = event.arguments;
  call.generation = event.generation;
  call.startedAt = event.at;
  Object.assign(call, grantOf(event));
}

function callEnded(call: CallView, event: CallEnded) {
  call.result = event.result;
  call.outcome = kindOfResult(event.result);
  if (event.origin === 'record') call.given = true;
  if (event.note !== undefined) call.note = event.note;
  Object.assign(call, grantOf(event));
  call.attempts = event.attempts;
  if (event.durationMs !== null) call.durationMs = event.durationMs;
}

/** Takes what a person says. An event that names no call of the turn is only counted. */
function viewDecision(view: TurnView, event: TurnEvent) {
  switch (event.type) {
    case 'decision':
      judged(view, event);
      return onKnown(view, event, (call) => foldDecision(call, event));
    case 'resolved':
      judged(view, event);
      return onKnown(view, event, (call) => foldResolution(call, event));
    case 'answered':
      judged(view, event);
      return onKnown(view, event, (call) => void call.answers.push(event));
    case 'outcome_reported':
      return onKnown(view, event, (call) => void (event.settles || call.late.push(event)));
  }
}

/** Changes a call if the turn has it. Anybody can name any call id, and only calls of the turn are shown. */
function onKnown(view: TurnView, event: CallHeader, change: (call: CallView) => void) {
  if (view.calls.some(({ callId }) => callId === event.callId)) withCall(view, event, change);
}

function judged(view: TurnView, event: DecisionMade | Resolved | Answered) {
  if (event.door === 'signal') view.unjudged = Math.max(0, view.unjudged - 1);
}

/** A call about which only its proposal is known. */
function callView(call: ProposedCall, step: number): CallView {
  const { callId, tool, arguments: args, proposed, ruling, now } = call;
  const lists = { answers: [], decisions: [], votes: [], resolutions: [], late: [] };
  const made = { callId, step, tool, arguments: args, effective: args, generation: 0, ...lists };
  return { ...made, phase: 'preparing', proposed, ruling, ...now };
}

/** Finds the calls of a turn that wait for a person, and notes them in the view. */
function findOpen(view: TurnView) {
  for (const call of view.calls) {
    if (isWaiting(call)) call.runId = view.runId;
  }
  const open = view.calls.flatMap((call) => waitingEvent(call) ?? []);
  view.requests = open.filter((one) => one.type === 'request_opened');
  view.questions = open.filter((one) => one.type === 'question_opened');
  view.inDoubt = open.filter((one) => one.type === 'in_doubt');
}

/** The grant that an event names for its call. */
function grantOf({ grant }: Pick<CallView, 'grant'>): Pick<CallView, 'grant'> {
  return grant === undefined ? {} : { grant };
}

/** Takes a decision. It decides the call, or counts as one vote of several. */
function foldDecision(call: CallView, event: DecisionMade) {
  call.decisions.push(event);
  const effect = effectOfDecision(event);
  if (effect === undefined || effect === 'counts' || event.decision === 'ask-again') return;
  if (effect !== 'asks_again') call.settledBy = event;
  if (event.arguments !== undefined) call.effective = withDefaults(call.request?.schema, event.arguments);
  if (effect !== 'denies') call.approved = call.effective;
}

/** Takes a resolution. It settles the doubt, or counts as one vote of several. */
function foldResolution(call: CallView, event: Resolved) {
  call.resolutions.push(event);
  if (takesEffect(event)) call.resolvedBy = event;
}
