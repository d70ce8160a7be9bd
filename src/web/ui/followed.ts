import { useCallback, useEffect, useRef } from 'preact/hooks';
import { describeOutcome } from '../../history/labels';
import type { CallView } from '../../history/view-types';
import { readCall } from '../http';
import type { Followed } from './app';
import type { Notify } from './held';

/**
 * How many milliseconds until the first look. Most calls end soon, so the time is short. It doubles after each look.
 */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** After this time the page no longer looks. Only the list shows how the call ended. */
const GIVE_UP_MS = 6 * 3_600_000;
const MOST = 50;

/**
 * Makes the function that follows a call which the user let run here, and says what went wrong with it. Such a notice
 * stays until it is closed, because the user is at another request by then.
 */
export function useFollowed(notify: Notify): (one: Followed) => void {
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  return useCallback((one: Followed) => {
    if (timers.current.size >= MOST) return;
    const giveUpAt = Date.now() + GIVE_UP_MS;
    const wait = (ms: number): void => {
      const timer = setTimeout(() => {
        timers.current.delete(timer);
        void look(ms);
      }, ms);
      timers.current.add(timer);
    };
    const look = async (waited: number): Promise<void> => {
      const reply = await readCall(one.turn, one.callId);
      const call = reply.ok ? reply.data.view.calls.find(({ callId }) => callId === one.callId) : undefined;
      const trouble = call && troubleOf(call);
      if (trouble !== undefined)
        notify({
          text: `${one.what} ${trouble}`,
          tone: 'bad',
          to: { label: 'See it', route: { at: 'call', turn: one.turn, callId: one.callId } },
          stays: true,
        });
      const isOver =
        trouble !== undefined || call?.result !== undefined || (!reply.ok && reply.status === 404);
      if (!isOver && Date.now() < giveUpAt) wait(Math.min(2 * waited, LONGEST_MS));
    };
    wait(FIRST_MS);
  }, []);
}

/** The problem of a call, for the person who let it run. Undefined if the call went well or is not over. */
function troubleOf({ phase, outcome, result, doubt, request }: CallView): string | undefined {
  if (phase === 'in_doubt' && doubt !== undefined) return `is in doubt: ${doubt.message}`;
  if (phase === 'request' && request?.note !== undefined) return `waits again: ${request.note}`;
  if (outcome === undefined || result?.error === undefined || outcome === 'denied') return undefined;
  return `ended as ${describeOutcome(outcome)[0]}: ${result.error.message}`;
}
