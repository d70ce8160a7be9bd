import { describeProgress, describeState } from '../history/labels';
import type { Countersign, Pending, TextDelta } from '../client';
import { CountersignError } from '../contract/errors';
import { shellWord } from '../contract/text/shell-word';
import type { TurnEvent } from '../history/events';
import type { Context } from './context';
import { EXIT } from './exit-codes';
import { escapeLines, escapeText } from '../contract/text/escape';
import { eventLines } from './print/event';
import { wrap } from '../contract/text/columns';
import type { Screen } from './print/screen';
import { openLines, pendingLines } from './print/turn';
import { waitingCallIds } from './target';
import { createView, type TurnView } from '../history/view';

/** The turn to watch, and how to print it. */
interface WatchOptions {
  turn: string;
  waitMs?: number;
  /** This command has just started the turn, so it may also end it. */
  isNew?: boolean;
}

/**
 * Prints a turn's events as they come, until it ends. Ctrl-C stops watching, but never ends the turn.
 *
 * @throws CountersignError `failed` for an end without an answer, `still_waiting` when `waitMs` is over, `not_found` for
 * a turn that is new and whose agent no worker has.
 */
export async function watchTurn(client: Countersign, options: WatchOptions, context: Context): Promise<void> {
  const { turn, waitMs, isNew } = options;
  const { json } = context;
  const past = json ? 0 : (await client.timeline(turn)).length;
  let seen = 0;
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once('SIGINT', interrupt);
  const progress = new Map<string, string>();
  try {
    const { end, view, held } = await followTurn(client, {
      turn,
      signal: stop.signal,
      waitMs,
      isNew,
      look: async () => {
        const pending = await client.pendingActivities(turn);
        if (!json) noteProgress(pending, progress, context);
        return heldUpBy(pending);
      },
      onEvent: (event, now) => {
        seen++;
        if (json) context.screen.jsonLine(event);
        else
          printEvent(event, now, { context, part: seen < past ? 'past' : seen === past ? 'last' : 'live' });
      },
      onSilence: (now) => noteSilence(client, now, context),
      onText: json || !context.screen.isTerminal ? undefined : drawText(context.screen),
    });
    if (end === 'hopeless') {
      await client.cancel(turn, 'no worker has its agent');
      const hint = 'The turn was cancelled. Name another agent, or start a worker that has it.';
      throw new CountersignError('not_found', held.lack ?? '', hint);
    }
    conclude({ end, held }, view, context);
  } finally {
    process.removeListener('SIGINT', interrupt);
  }
}

/** The most lines of the text that are drawn, counted from its end. */
const TEXT_LINES = 8;
/** The most characters of the text that are kept: more than these lines can hold on a wide terminal. */
const TEXT_CHARACTERS = 4_000;

/** Draws the end of the text that the model writes, until an event takes its place. */
function drawText(screen: Screen): (delta: TextDelta) => void {
  const { style, width } = screen;
  let text = '';
  return ({ attempt, at, text: added }) => {
    text = ((at === 0 ? '' : text) + added).slice(-TEXT_CHARACTERS);
    const again = attempt > 1 ? ` again, from the beginning (attempt ${attempt})` : '';
    const lines = escapeLines(text.trim(), style.mark, 'prose').flatMap((line) => wrap(line, width - 4));
    screen.draw([
      style.quiet(`the model writes${again} …`),
      ...lines.slice(-TEXT_LINES).map((line) => `  ${line}`),
    ]);
  };
}

/** Notes the progress of running calls, each change once. */
function noteProgress({ activities }: Pending, last: Map<string, string>, { screen }: Context) {
  for (const { callId, name, progress } of activities) {
    if (callId === undefined || progress === undefined) continue;
    const text = describeProgress(progress);
    if (last.get(callId) !== text)
      screen.note(screen.style.quiet(escapeText(`… ${callId} ${name}: ${text}`)));
    last.set(callId, text);
  }
}

/**
 * When an event was recorded, compared to the start of watching. `past`: before the newest event at the start. `last`:
 * the newest event at the start. `live`: after the start.
 */
type Part = 'past' | 'last' | 'live';

function printEvent(event: TurnEvent, view: TurnView, { context, part }: { context: Context; part: Part }) {
  const { screen, command } = context;
  screen.lines(eventLines(event, screen));
  if (part === 'past') return;
  // Requests that were open at the start are printed once, then each new request.
  const isNew = ({ eventId, callId }: { eventId: number; callId: string }) =>
    part === 'last' || (eventId === event.eventId && 'callId' in event && event.callId === callId);
  const { requests, questions, inDoubt } = view;
  const opened = {
    ...view,
    requests: requests.filter(isNew),
    questions: questions.filter(isNew),
    inDoubt: inDoubt.filter(isNew),
  };
  const lines = openLines(opened, { screen, command, now: Date.now() });
  if (lines.length > 0) screen.lines([...lines, '']);
}

async function noteSilence(client: Countersign, view: TurnView, { screen, typed }: Context) {
  if (waitsForPerson(view)) return;
  const pending = await client.pendingActivities(view.turn);
  const lines = pendingLines(pending, Date.now());
  for (const line of lines) screen.note(screen.style.quiet(`… ${typed(line)}`));
}

function conclude({ end, held }: Pick<Followed, 'end' | 'held'>, view: TurnView, context: Context) {
  if (end === 'interrupted') {
    context.screen.note('');
    context.screen.note(
      `The turn goes on. Look again: ${context.command(`show ${shellWord(view.turn)} --follow`)}`,
    );
    context.exitWith(EXIT.interrupted);
    return;
  }
  if (end === 'waiting') {
    const open = waitingCallIds(view);
    const isPerson = open.length > 0;
    const message = `${view.turn} still waits${isPerson ? ' for a person' : ''}`;
    const why = isPerson
      ? `Open: ${open.join(', ')}. The turn goes on once it is decided.`
      : held.lines.join('\n');
    throw new CountersignError('still_waiting', message, { hint: why, data: { open } });
  }
  if (view.status === 'answered') return;
  throw new CountersignError(
    'failed',
    `${view.turn} ended without an answer: ${describeState(view.status)[0]}`,
    {
      hint: view.error?.message,
    },
  );
}

/** How to follow a turn. */
interface FollowPlan {
  turn: string;
  /** Called with each event, and the turn as it is after the event. */
  onEvent(event: TurnEvent, view: TurnView): void;
  /** Called with the text that the model writes. Absent: only finished replies are read. */
  onText?(delta: TextDelta): void;
  /** Called when nothing happened for a while although the turn runs. */
  onSilence(view: TurnView): Promise<void>;
  /** The most time to follow a turn that does not run, in milliseconds. Absent: no limit. */
  waitMs?: number;
  /** Whether following also ends if no worker has the turn's agent. */
  isNew?: boolean;
  /** Looks at what the turn does, and says what holds it, apart from people. */
  look(): Promise<Held>;
  /** An abort stops following. */
  signal: AbortSignal;
}

/** What holds a turn, apart from people. */
interface Held {
  /** Why it does not run. Empty: it runs. */
  lines: string[];
  /** Why no worker of the queue asks its model, in words. */
  lack?: string;
}

const RUNS: Held = { lines: [] };

/** What holds a turn with these activities. One that no worker took yet is about to run, if a worker is there. */
export function heldUpBy(pending: Pending): Held {
  const { activities } = pending;
  if (activities.some(({ state }) => state === 'started')) return RUNS;
  const held = activities.filter(({ waits = 'worker', state }) => waits !== 'worker' || state === 'paused');
  const lacking = held.find(({ what, waits }) => what === 'think' && waits === 'nobody');
  return { lines: pendingLines({ ...pending, activities: held }, Date.now()), lack: lacking?.lastFailure };
}

/**
 * How following ended. `waiting`: the time is over, and the turn does not run; `hopeless`: no worker has the agent of
 * the new turn.
 */
interface Followed {
  end: 'ended' | 'waiting' | 'hopeless' | 'interrupted';
  view: TurnView;
  held: Held;
}

/** The time between two looks at what a turn does, in milliseconds. */
const LOOK_MS = 1_000;

/** The times after which silence is reported: soon at first, then less often. */
const SILENCE_MS = [3_000, 15_000, 60_000] as const;

/** Follows a turn until it ends, does not run when the time is over, is hopeless, or the signal aborts. */
export async function followTurn(
  client: Pick<Countersign, 'follow' | 'followWithText'>,
  plan: FollowPlan,
): Promise<Followed> {
  const live = createView();
  const stop = new AbortController();
  const signal = AbortSignal.any([plan.signal, stop.signal]);
  let isLate = false;
  let held = RUNS;
  const tooLate = () => isLate && (waitsForPerson(live.current()) || held.lines.length > 0);
  const isBegun = () => plan.isNew !== true || live.current().steps.length > 0;
  const isHopeless = () => !isBegun() && held.lack !== undefined;
  const look = async () => {
    const runs = live.current().calls.some(({ phase }) => phase === 'running');
    if (isBegun() && !isLate && !runs) return;
    if (!tooLate()) held = await plan.look();
    if (tooLate() || isHopeless()) stop.abort();
  };
  // The code that follows the turn gets the same error, and reports it.
  const tryLook = (): void => void look().catch(() => undefined);
  const looks = setInterval(tryLook, LOOK_MS);
  const late = () => {
    isLate = true;
    tryLook();
  };
  const timer = plan.waitMs === undefined ? undefined : setTimeout(late, plan.waitMs);
  const silence = watchSilence(() => plan.onSilence(live.current()));
  try {
    const { turn, onText } = plan;
    const events = onText ? client.followWithText(turn, { signal }) : client.follow(turn, { signal });
    for await (const event of events) {
      silence.broken();
      if (event.type === 'text') {
        onText?.(event);
        continue;
      }
      held = RUNS;
      live.push(event);
      plan.onEvent(event, live.current());
      if (tooLate()) break;
    }
  } finally {
    clearTimeout(timer);
    clearInterval(looks);
    silence.end();
  }
  const view = live.current();
  const { aborted } = plan.signal;
  const stopped = aborted ? 'interrupted' : isHopeless() ? 'hopeless' : 'waiting';
  return { end: view.endedAt === null ? stopped : 'ended', view, held };
}

/** Whether only a person can move the turn on, according to the record. */
function waitsForPerson({ status }: TurnView) {
  return status === 'waiting' || status === 'in_doubt';
}

/**
 * Reports silence at growing intervals. Ignores a failed report, because the code that follows the turn gets the same
 * error. After `end`, nothing is reported and no timer is left, whatever happens later: a timer would keep the process
 * open.
 */
export function watchSilence(report: () => Promise<void>): { broken(): void; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const start = (times: number) => {
    const ms = SILENCE_MS[Math.min(times, SILENCE_MS.length - 1)];
    const own = (timer = setTimeout(() => {
      const goOn = () => {
        // If the silence was broken during the report, a new timer has already been set.
        if (timer === own) start(times + 1);
      };
      void report()
        .catch(() => undefined)
        .finally(goOn);
    }, ms));
  };
  start(0);
  return {
    broken: () => {
      clearTimeout(timer);
      if (!isOver) start(0);
    },
    end: () => {
      isOver = true;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
