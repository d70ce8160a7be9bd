import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { describeOutcome } from '../../history/labels';
import type { CallView } from '../../history/view-types';
import { readCall } from '../http';
import { hrefOf } from '../model/route';
import type { Followed, ShownNotice } from './app';
import { Text } from './text';

/**
 * How many milliseconds until the first look. Most calls end soon, so the time is short. It doubles after each look.
 */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** After this time the page no longer looks. Only the list shows how the call ended. */
const GIVE_UP_MS = 6 * 3_600_000;
const MOST = 50;

/**
 * Follows the calls that the user let run here, and returns what went wrong with them. Such news stays until it is
 * closed, because the user is at another request by then.
 */
export function useFollowed(): {
  news: readonly ShownNotice[];
  follow: (one: Followed) => void;
  clear: () => void;
} {
  const [news, setNews] = useState<readonly ShownNotice[]>([]);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  const follow = useCallback((one: Followed) => {
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
      if (trouble !== undefined) setNews((last) => [...last, newsOf(one, trouble)]);
      const isOver =
        trouble !== undefined || call?.result !== undefined || (!reply.ok && reply.status === 404);
      if (!isOver && Date.now() < giveUpAt) wait(Math.min(2 * waited, LONGEST_MS));
    };
    wait(FIRST_MS);
  }, []);
  return { news, follow, clear: () => setNews([]) };
}

/** The problem of a call, for the person who let it run. Undefined if the call went well or is not over. */
function troubleOf({ phase, result, doubt, request }: CallView): string | undefined {
  if (phase === 'in_doubt') return `is in doubt: ${doubt?.message ?? 'nobody knows whether it happened'}`;
  if (phase === 'requested' && request?.note !== undefined) return `waits again: ${request.note}`;
  if (result === undefined || result.success || phase === 'denied') return undefined;
  return `ended as ${describeOutcome(result.error?.code ?? 'unknown')[0]}: ${result.error?.message ?? ''}`;
}

function newsOf({ turn, callId, what }: Followed, trouble: string): ShownNotice {
  const to: ShownNotice['to'] = { label: 'See it', route: { at: 'call', turn, callId } };
  return { text: `${what} ${trouble}`, tone: 'bad', to };
}

/** Shows problems of calls that the user let run. */
export function News({ of, clear }: { of: readonly ShownNotice[]; clear: () => void }): JSX.Element {
  return (
    <div class="news" role="status" aria-live="polite" aria-label="What you let run">
      {of.map(({ text, to }, index) => (
        <p key={index} class="notice bad">
          <span>
            <Text of={text} />
          </span>
          {to !== undefined && <a href={hrefOf(to.route)}>{to.label}</a>}
        </p>
      ))}
      {of.length > 0 && (
        <button class="button" type="button" onClick={clear}>
          Close
        </button>
      )}
    </div>
  );
}
