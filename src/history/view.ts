import {
  type Answered,
  type CallEnded,
  type CallStarted,
  type DecisionMade,
  type DecisionVoid,
  type Forked,
  type InDoubtOpened,
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
import { effectOfDecision, effectOfResolution } from './decisions';
import { addSpent, noSpending, raised, smallerOf, spentInReply } from '../contract/spending/budget';
import { VOTED_BEFORE } from '../contract/call-texts';
import { RAISE_BUDGET, stepOfCall } from '../contract/names';
import { defined } from '../contract/defined';
import { voteOf } from '../contract/decision';
import { withDefaults } from '../contract/schema/schema';
import type { CastVote } from '../contract/authority';
import { voterIn } from '../authority/votes/voters';

export { keyOfStart } from './view-types';
export type { CallPhase, CallView, LiveView, StepView, ThinkingView, TurnView } from './view-types';

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

function apply(view: TurnView, event: TurnEvent): void {
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
function viewRun(view: TurnView, event: TurnEvent): void {
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
function started(view: TurnView, event: TurnStarted): void {
  const { turn, runId, agent, prompt, files, origin, schedule, session, taskQueue, lineage, budget } = event;
  const facts = { files, origin, schedule, session, lineage };
  Object.assign(view, { turn, runId, agent, prompt, taskQueue, ...facts });
  if (view.budget === undefined && budget !== undefined) view.budget = budget;
  if (view.startedAt === '') view.startedAt = event.at;
}

function forked(view: TurnView, event: Forked): void {
  const { type: _type, eventId: _id, at: _at, ...fork } = event;
  view.fork = fork;
}

function reopened(view: TurnView, runId: string): void {
  view.runId = runId;
  for (const call of view.calls) if (call.votes.length > 0 && isWaiting(call)) votesVoided(call);
  view.endedAt = null;
  delete view.answer;
  delete view.value;
  delete view.error;
}

/** Votes are for the run in which they were cast. The turn says so beside the request. */
function votesVoided(call: CallView): void {
  call.votes = [];
  if (call.request !== undefined) call.request = { ...call.request, note: VOTED_BEFORE };
}

function askedAgain({ thinking }: TurnView, { step, attempt, lastFailure }: ThinkRetried): void {
  if (thinking?.step !== step) return;
  Object.assign(thinking, defined({ attempts: attempt, lastFailure }));
}

function stepped(view: TurnView, event: Step): void {
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

function ended(view: TurnView, event: TurnEnded): void {
  view.status = event.status;
  view.endedAt = event.at;
  view.unjudged = 0;
  const { answer, error, result } = event;
  if (result?.spent !== undefined) view.spent = result.spent;
  Object.assign(view, defined({ answer, error, value: result?.value }));
  for (const call of view.calls) if (isWaiting(call) || call.phase === 'lost') call.phase = 'closed';
}

/** Takes an event of a call, except what people say. */
function viewCall(view: TurnView, event: TurnEvent): void {
  switch (event.type) {
    case 'step':
      view.calls.push(...event.calls.map((call) => callView(call, event.step)));
      return;
    case 'call_prepared':
      return prepared(view, event.call);
    case 'request_opened':
      return withCall(view, event, (call) => requested(call, event));
    case 'question_opened':
      return withCall(view, event, (call) => void Object.assign(call, { phase: 'asked', question: event }));
    case 'decision_void':
      return withCall(view, event, (call) => callReopened(call, event));
    case 'request_escalated':
      return withCall(view, event, (call) => void (call.isEscalated = true));
    case 'request_expired':
      return withCall(view, event, (call) => void (call.phase = 'expired'));
    case 'call_started':
      return withCall(view, event, (call) => callStarted(call, event));
    case 'call_lost':
      return withCall(view, event, (call) => void Object.assign(call, { phase: 'lost' }, grantOf(event)));
    case 'in_doubt':
      return withCall(view, event, (call) => doubted(call, event));
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

/** Changes the call with an id. The call is made up if its step could not be read. */
function withCall(
  view: TurnView,
  { callId, tool = '' }: { callId: string; tool?: string },
  change: (call: CallView) => void,
): void {
  const known = view.calls.findLast((call) => call.callId === callId);
  if (known !== undefined) return change(known);
  const step = stepOfCall(callId);
  const made = callView({ callId, id: callId, tool, kind: 'run', arguments: {} }, step);
  view.calls.push(made);
  change(made);
}

function prepared(view: TurnView, proposed: ProposedCall): void {
  withCall(view, proposed, (call) => {
    if (call.phase === 'proposed') call.arguments = proposed.arguments;
    call.effective = proposed.arguments;
    Object.assign(call, defined({ ruling: proposed.ruling }));
  });
}

/** A decision did not hold: nothing ran, and the call waits for a decision that counts. */
function callReopened(call: CallView, { struck }: DecisionVoid): void {
  call.votes = struck === undefined ? [] : call.votes.filter(({ voter }) => !struck.includes(voter));
  call.phase = 'replanning';
  delete call.settledBy;
  delete call.resolvedBy;
  delete call.approved;
  delete call.grant;
  delete call.startedAt;
}

/**
 * Takes a request. A call that is asked about again has no votes. With a note, the request is the same as before, and
 * the votes stay.
 */
function requested(call: CallView, event: RequestOpened): void {
  if (event.note === undefined && call.phase === 'replanning') forgetVotes(call);
  call.phase = 'requested';
  call.request = event;
  call.effective = event.arguments;
}

function doubted(call: CallView, event: InDoubtOpened): void {
  call.votes = [];
  call.phase = 'in_doubt';
  call.doubt = event;
}

/** What the check of a call in doubt found out, for the person who resolves it. */
function verified(call: CallView, { outcome, message }: Verified): void {
  if (call.doubt === undefined || outcome !== 'cannot_tell' || message === undefined) return;
  call.doubt = { ...call.doubt, message: `${call.doubt.message}; ${message}` };
}

function callStarted(call: CallView, event: CallStarted): void {
  call.phase = 'running';
  call.effective = event.arguments;
  call.generation = event.generation;
  call.startedAt = event.at;
  Object.assign(call, grantOf(event));
}

/** Ways in which a person ended a call. They say more than that the call is done. */
const PERSONAL_ENDS: readonly CallView['phase'][] = ['denied', 'expired', 'answered', 'declined'];

function callEnded(call: CallView, event: CallEnded): void {
  if (!PERSONAL_ENDS.includes(call.phase)) call.phase = 'done';
  call.result = event.result;
  if (event.origin === 'record') call.given = true;
  if (event.note !== undefined) call.note = event.note;
  Object.assign(call, grantOf(event));
  call.attempts = event.attempts;
  if (event.durationMs !== null) call.durationMs = event.durationMs;
}

/** Takes what a person says. An event that names no call of the turn is only counted. */
function viewDecision(view: TurnView, event: TurnEvent): void {
  switch (event.type) {
    case 'decision':
      judged(view, event);
      return onKnown(view, event.callId, (call) => foldDecision(call, event));
    case 'resolved':
      judged(view, event);
      return onKnown(view, event.callId, (call) => foldResolution(call, event));
    case 'answered':
      judged(view, event);
      return onKnown(view, event.callId, (call) => answered(call, event));
    case 'outcome_reported':
      return onKnown(view, event.callId, (call) => void (event.settles || call.late.push(event)));
  }
}

/** Changes a call if the turn has it. Anybody can name any call id, and only calls of the turn are shown. */
function onKnown(view: TurnView, callId: string, change: (call: CallView) => void): void {
  if (view.calls.some((call) => call.callId === callId)) withCall(view, { callId }, change);
}

function judged(view: TurnView, event: DecisionMade | Resolved | Answered): void {
  if (event.door === 'signal') view.unjudged = Math.max(0, view.unjudged - 1);
}

function answered(call: CallView, event: Answered): void {
  call.answers.push(event);
  if (event.judgement.accepted !== true || call.phase !== 'asked') return;
  call.phase = event.answer === 'declined' ? 'declined' : 'answered';
}

/** A call about which only its proposal is known. */
function callView(call: ProposedCall, step: number): CallView {
  const { callId, tool, arguments: args, proposed, ruling } = call;
  const lists = { answers: [], decisions: [], votes: [], resolutions: [], late: [] };
  const made = { callId, step, tool, arguments: args, effective: args, generation: 0, ...lists };
  return { ...made, phase: 'proposed', proposed, ruling };
}

/** Finds the calls of a turn that wait for a person, and notes them in the view. */
function findOpen(view: TurnView): void {
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
function foldDecision(call: CallView, event: DecisionMade): void {
  call.decisions.push(event);
  const effect = effectOfDecision(event);
  if (effect === undefined || call.phase !== 'requested') return;
  const isRepeated = effect === 'asks_again';
  if (!isRepeated) voted(call, event, voteOf(event));
  if (effect === 'counts') return;
  if (event.decision === 'ask-again') return void (call.phase = 'replanning');
  if (!isRepeated) call.settledBy = event;
  if (event.arguments !== undefined) call.effective = withDefaults(call.request?.schema, event.arguments);
  if (effect === 'denies') return void (call.phase = 'denied');
  call.approved = call.effective;
  call.phase = isRepeated ? 'replanning' : 'approved';
}

/** Takes a resolution. It settles the doubt, or counts as one vote of several. */
function foldResolution(call: CallView, event: Resolved): void {
  call.resolutions.push(event);
  const effect = effectOfResolution(event);
  if (effect === undefined || (call.phase !== 'in_doubt' && call.phase !== 'lost')) return;
  if (event.resolution === 'run-again') voted(call, { ...event, hunks: call.settledBy?.hunks }, 'approved');
  if (effect === 'counts') return;
  call.resolvedBy = event;
  call.phase = effect === 'runs_again' ? 'approved' : 'done';
}

/** Removes the votes on a call, because a new request waits now. */
function forgetVotes(call: CallView): void {
  call.votes = [];
  delete call.isEscalated;
}

/** Notes a vote. It replaces an earlier vote of the same person. Undefined: the person took the vote back. */
function voted(
  call: CallView,
  said: Pick<DecisionMade, 'approver' | 'at' | 'signature'> & { hunks?: readonly string[] | undefined },
  decision: CastVote['decision'] | undefined,
): void {
  const { approver, at, signature, hunks } = said;
  const authority = call.request?.authority;
  const voter = voterIn(authority, approver);
  const others = call.votes.filter((one) => one.voter !== voter);
  if (authority === undefined) return;
  if (decision === undefined) return void (call.votes = others);
  const chosen = decision === 'approved' ? hunks : undefined;
  const more = { hunks: chosen, signedBy: signature?.kind };
  call.votes = [...others, { voter, decision, at, ...more }];
}
