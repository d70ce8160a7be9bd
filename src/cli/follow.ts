import type { Countersign } from '../client';
import type { TurnEvent } from '../history/events';
import { createView, type TurnView } from '../history/view';

/** How to follow a turn. */
export interface FollowPlan {
  turn: string;
  /** Called with each event, and the turn as it is after it. */
  onEvent(event: TurnEvent, view: TurnView): void;
  /** Called when nothing happened for a while although the turn runs. */
  onSilence(view: TurnView): Promise<void>;
  /** Give up waiting for a person after this many milliseconds; absent: never. */
  waitMs?: number;
  /** Ends the following. */
  signal: AbortSignal;
}

/** How following ended. `waiting`: a person did not decide in time. */
export type FollowEnd = 'ended' | 'waiting' | 'interrupted';

/** First silence, then every longer silence; a person should not wonder, nor be bored. */
const SILENCE_MS = [3_000, 15_000, 60_000] as const;

/** Follows a turn until it ends, a person was waited for long enough, or the signal aborts. */
export async function followTurn(
  desk: Pick<Countersign, 'follow'>,
  plan: FollowPlan,
): Promise<{ end: FollowEnd; view: TurnView }> {
  const live = createView();
  const stop = new AbortController();
  const signal = AbortSignal.any([plan.signal, stop.signal]);
  let isLate = false;
  const tooLate = (): boolean => isLate && waitsForPerson(live.current());
  const timer = startTimer(plan.waitMs, () => {
    isLate = true;
    if (tooLate()) stop.abort();
  });
  const silence = watchSilence(() => plan.onSilence(live.current()));
  try {
    for await (const event of desk.follow(plan.turn, { signal })) {
      silence.broken();
      live.push(event);
      plan.onEvent(event, live.current());
      if (tooLate()) break;
    }
  } finally {
    clearTimeout(timer);
    silence.end();
  }
  return { end: howItEnded(live.current(), plan.signal), view: live.current() };
}

/** Whether nothing but a person can move the turn on, as far as the record tells. */
export function waitsForPerson({ status }: TurnView): boolean {
  return status === 'waiting' || status === 'in_doubt';
}

function howItEnded(view: TurnView, signal: AbortSignal): FollowEnd {
  if (view.endedAt !== null) return 'ended';
  return signal.aborted ? 'interrupted' : 'waiting';
}

function startTimer(ms: number | undefined, act: () => void): NodeJS.Timeout | undefined {
  return ms === undefined ? undefined : setTimeout(act, ms);
}

/** Tells of silence at growing intervals; an error there is the follower's own to find. */
function watchSilence(tell: () => Promise<void>): { broken(): void; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  const start = (times: number): void => {
    const ms = SILENCE_MS[Math.min(times, SILENCE_MS.length - 1)];
    timer = setTimeout(() => {
      void tell()
        .catch(() => undefined)
        .finally(() => (timer === undefined ? undefined : start(times + 1)));
    }, ms);
  };
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  start(0);
  return {
    broken: () => {
      end();
      start(0);
    },
    end,
  };
}
