import type { Countersign } from '../client';
import { CountersignError } from '../contract/errors';
import { defined } from '../history/defined';
import type { TurnEvent } from '../history/events';
import type { TurnView } from '../history/view';
import type { Context } from './context';
import { EXIT } from './exit-codes';
import { followTurn, waitsForPerson, type FollowEnd } from './follow';
import { eventLines } from './print/event';
import { pendingLines } from './print/pending';
import { openLines } from './print/turn';
import { openCalls } from './target';

/** What is watched and how. */
export interface WatchOptions {
  turn: string;
  /** One event a line, as JSON. */
  json: boolean;
  waitMs?: number;
}

/**
 * Prints a turn's events as they come, until it ends. Ctrl-C ends the watching, never the turn.
 *
 * @throws CountersignError `turn_failed` for an end without an answer, `still_waiting` when `waitMs` is over.
 */
export async function watchTurn(desk: Countersign, options: WatchOptions, context: Context): Promise<void> {
  const { turn, json, waitMs } = options;
  const past = json ? 0 : (await desk.timeline(turn)).length;
  let seen = 0;
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  try {
    const { end, view } = await followTurn(desk, {
      turn,
      signal: stop.signal,
      ...defined({ waitMs }),
      onEvent: (event, now) => {
        seen++;
        if (json) context.screen.jsonLine(event);
        else printEvent(event, now, { context, part: partOf(seen, past) });
      },
      onSilence: (now) => tellSilence(desk, now, context),
    });
    conclude(end, view, context);
  } finally {
    process.removeListener('SIGINT', interrupt);
  }
}

/** `past`: more is on record already. `last`: the newest thing on record when the watching began. */
type Part = 'past' | 'last' | 'live';

function partOf(seen: number, past: number): Part {
  if (seen < past) return 'past';
  return seen === past ? 'last' : 'live';
}

function printEvent(
  event: TurnEvent,
  view: TurnView,
  { context, part }: { context: Context; part: Part },
): void {
  const { screen, command } = context;
  screen.lines(eventLines(event, screen));
  if (part === 'past') return;
  // What was open before the watching began is told once, and then what opens.
  const isNew = ({ eventId, callId }: { eventId: number; callId: string }): boolean =>
    part === 'last' || (eventId === event.eventId && 'callId' in event && event.callId === callId);
  const opened = { ...view, requests: view.requests.filter(isNew), inDoubt: view.inDoubt.filter(isNew) };
  const lines = openLines(opened, { screen, command, now: Date.now() });
  if (lines.length > 0) screen.lines([...lines, '']);
}

async function tellSilence(desk: Countersign, view: TurnView, { screen }: Context): Promise<void> {
  if (waitsForPerson(view)) return;
  const pending = await desk.pendingActivities(view.turn);
  const lines = pendingLines(pending, Date.now());
  for (const line of lines) screen.note(screen.style.quiet(`… ${line}`));
}

function conclude(end: FollowEnd, view: TurnView, context: Context): void {
  if (end === 'interrupted') {
    context.screen.note(`\nThe turn goes on. Look again: ${context.command(`show ${view.turn} --follow`)}`);
    process.exitCode = EXIT.interrupted;
    return;
  }
  if (end === 'waiting') {
    const open = openCalls(view);
    throw new CountersignError('still_waiting', `${view.turn} still waits for a person`, {
      hint: `Open: ${open.join(', ')}. The turn goes on once it is decided.`,
      data: { open },
    });
  }
  if (view.status === 'answered') return;
  throw new CountersignError(
    'turn_failed',
    `${view.turn} ended without an answer: ${view.status.replaceAll('_', ' ')}`,
    {
      ...defined({ hint: view.error?.message }),
    },
  );
}
