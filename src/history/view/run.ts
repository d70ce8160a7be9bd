import { defined } from '../defined';
import type { Forked, Step, Thinking, ThinkRetried, TurnEnded, TurnEvent, TurnStarted } from '../events';
import type { TurnView } from '../view-types';

/** A turn of which nothing is known yet. */
export function makeView(): TurnView {
  return {
    turn: '',
    runId: '',
    agent: '',
    prompt: '',
    taskQueue: '',
    status: 'running',
    startedAt: '',
    endedAt: null,
    steps: [],
    calls: [],
    requests: [],
    inDoubt: [],
    cancelRequested: false,
    abandoned: false,
    unjudged: 0,
  };
}

/** Takes what concerns the turn as a whole. */
export function viewRun(view: TurnView, event: TurnEvent): void {
  switch (event.type) {
    case 'turn_started':
      return started(view, event);
    case 'forked':
      return forked(view, event);
    case 'reset':
      return reopened(view, event.newRunId);
    case 'thinking':
      return asked(view, event);
    case 'think_retried':
      return askedAgain(view, event);
    case 'step':
      return stepped(view, event);
    case 'cancel_requested':
      view.cancelRequested = true;
      return;
    case 'abandoned':
      view.abandoned = true;
      return;
    case 'signal_recorded':
      view.unjudged += 1;
      return;
    case 'turn_ended':
      return ended(view, event);
  }
}

/** A run that continues the one before changes nothing but the run. */
function started(view: TurnView, event: TurnStarted): void {
  const { turn, runId, agent, prompt, taskQueue } = event;
  Object.assign(view, { turn, runId, agent, prompt, taskQueue });
  if (view.startedAt === '') view.startedAt = event.at;
}

function forked(view: TurnView, event: Forked): void {
  const { type: _type, eventId: _id, at: _at, ...fork } = event;
  view.fork = fork;
}

function reopened(view: TurnView, runId: string): void {
  view.runId = runId;
  view.endedAt = null;
  delete view.answer;
  delete view.error;
}

function asked(view: TurnView, { step, at }: Thinking): void {
  view.thinking = { step, askedAt: at, attempts: 1 };
}

function askedAgain({ thinking }: TurnView, { step, attempt, lastFailure }: ThinkRetried): void {
  if (thinking?.step !== step) return;
  Object.assign(thinking, defined({ attempts: attempt, lastFailure }));
}

function stepped(view: TurnView, event: Step): void {
  const { step, text, model, finishReason, usage, calls, at, given } = event;
  const { askedAt = at, attempts = 1, lastFailure } = view.thinking ?? {};
  const callIds = calls.map((call) => call.callId);
  const reply = { step, text, model, finishReason, callIds };
  view.steps.push({ ...reply, askedAt, repliedAt: at, attempts, ...defined({ usage, lastFailure, given }) });
  delete view.thinking;
}

function ended(view: TurnView, event: TurnEnded): void {
  view.status = event.status;
  view.endedAt = event.at;
  view.unjudged = 0;
  Object.assign(view, defined({ answer: event.answer, error: event.error }));
  for (const call of view.calls)
    if (['requested', 'in_doubt', 'lost'].includes(call.phase)) call.phase = 'closed';
}
