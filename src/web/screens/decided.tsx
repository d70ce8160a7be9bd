import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { dateTime, relative } from '../../contract/text/times';
import { describeOutcome, describePhase } from '../../history/labels';
import type { CallView } from '../../history/view-types';
import type { DecidedAnswer, DecidedCall, Refusal } from '../../server/api';
import { readCall, readDecided, readRefusals, type Reply } from '../http';
import { REFUSAL_LABELS } from '../model/labels';
import { hrefOf } from '../model/route';
import { type Followed, type Notice, useAppContext, useNow } from '../ui/app';
import { Text } from '../ui/text';
import { Chip } from '../ui/widgets';

/** The screen looks again after this time. Milliseconds. */
const AGAIN_MS = 15_000;

/** What the signed-in user decided, and how it ended. */
export function DecidedScreen(): JSX.Element {
  const { session } = useAppContext();
  const answer = useReading<DecidedAnswer>(readDecided);
  return (
    <section class="turns" aria-labelledby="decided-title">
      <h1 id="decided-title" class="pane-title">
        Decided by <Text of={session.user} />
      </h1>
      {answer === undefined ? (
        <p class="empty">Reading turns …</p>
      ) : (
        <>
          <p class="quiet">{lookedText(answer)}</p>
          {answer.calls.length === 0 && <p class="empty">Nothing yet.</p>}
          <ul class="turn-list">
            {answer.calls.map((one) => (
              <DecidedRow key={`${one.turn}/${one.callId}`} {...one} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function lookedText({ looked, isCut }: DecidedAnswer): string {
  const turns = isCut ? `the newest turns, and those that you decided in here` : `all ${looked} turns`;
  return `From ${turns}, whichever way the decision came.`;
}

function DecidedRow(one: DecidedCall): JSX.Element {
  const { turn, callId, summary, what, at, reason, hunks, outcome, message, authenticated } = one;
  const now = useNow();
  return (
    <li>
      <a href={hrefOf({ at: 'call', turn, callId })}>
        <span class="turn-prompt">
          <Text of={summary} />
        </span>
        <Chip of={outcome === undefined ? describePhase(one) : describeOutcome(outcome)} />
        <span class="row-foot">
          {what}
          {hunks !== undefined && `, hunks ${hunks.join(', ')}`} · {dateTime(at)}, {relative(at, now)}
          {authenticated !== true && ' · as claimed'} ·{' '}
          <code>
            <Text of={`${turn}/${callId}`} />
          </code>
          {message !== undefined && ' · '}
          {message !== undefined && <Text of={message} />}
          {reason !== undefined && ' · '}
          {reason !== undefined && <Text of={`“${reason}”`} />}
        </span>
      </a>
    </li>
  );
}

/** Decisions and resolutions that this web inbox sent and that were refused: history has none of them. */
export function RefusedScreen(): JSX.Element {
  const refusals = useReading<Refusal[]>(readRefusals);
  return (
    <section class="turns" aria-labelledby="refused-title">
      <h1 id="refused-title" class="pane-title">
        Refused decisions
      </h1>
      <p class="quiet">Those that were sent by this web inbox, of every person. Nothing ran by them.</p>
      {refusals === undefined && <p class="empty">Reading …</p>}
      {refusals?.length === 0 && <p class="empty">None was refused.</p>}
      <ul class="turn-list">
        {refusals?.map((one) => (
          <RefusedRow key={`${one.at}/${one.turn}/${one.callId}/${one.user}`} {...one} />
        ))}
      </ul>
    </section>
  );
}

function RefusedRow({ at, user, turn, callId, what, code, standing }: Refusal): JSX.Element {
  const now = useNow();
  return (
    <li>
      <a href={hrefOf({ at: 'call', turn, callId })}>
        <span class="turn-prompt">
          <Text of={user} />: {REFUSAL_LABELS[code]}
        </span>
        <Chip of={[code.replaceAll('_', ' '), 'bad']} />
        <span class="row-foot">
          a {what} · {dateTime(at)}, {relative(at, now)} ·{' '}
          <code>
            <Text of={`${turn}/${callId}`} />
          </code>
          {standing !== undefined && ' · '}
          {standing !== undefined && (
            <Text of={`${standing.decision} by ${standing.approver}, ${dateTime(standing.at)}`} />
          )}
        </span>
      </a>
    </li>
  );
}

/** Reads now and again and again; undefined until the first answer. */
function useReading<T>(read: () => Promise<Reply<T>>): T | undefined {
  const { fail } = useAppContext();
  const [data, setData] = useState<T>();
  useEffect(() => {
    const look = async (): Promise<void> => {
      const reply = await read();
      if (reply.ok) setData(reply.data);
      else fail(reply.status, reply.error);
    };
    void look();
    const timer = setInterval(() => void look(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [read, fail]);
  return data;
}

/** The first look comes soon, because most calls take a moment; each next one after twice the time. Milliseconds. */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** After this time only the list tells how it ended. */
const GIVE_UP_MS = 6 * 3_600_000;
const MOST = 50;

/**
 * Follows the calls that the user let run here, and gives what went wrong with them: it stays until it is closed, because
 * the user is at another request by then.
 */
export function useFollowed(): {
  news: readonly Notice[];
  follow: (one: Followed) => void;
  clear: () => void;
} {
  const [news, setNews] = useState<readonly Notice[]>([]);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  const follow = useCallback((one: Followed) => {
    if (timers.current.size >= MOST) return;
    const until = Date.now() + GIVE_UP_MS;
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
      if (!isOver && Date.now() < until) wait(Math.min(2 * waited, LONGEST_MS));
    };
    wait(FIRST_MS);
  }, []);
  return { news, follow, clear: () => setNews([]) };
}

/** What a person who let a call run has to know; undefined where it went well, or is not over. */
function troubleOf({ phase, result, doubt, request }: CallView): string | undefined {
  if (phase === 'in_doubt') return `is in doubt: ${doubt?.message ?? 'nobody knows whether it happened'}`;
  if (phase === 'requested' && request?.note !== undefined) return `waits again: ${request.note}`;
  if (result === undefined || result.success || phase === 'denied') return undefined;
  return `ended as ${describeOutcome(result.error?.code ?? 'unknown')[0]}: ${result.error?.message ?? ''}`;
}

function newsOf({ turn, callId, what }: Followed, trouble: string): Notice {
  const to: Notice['to'] = { label: 'See it', route: { at: 'call', turn, callId } };
  return { text: `${what} ${trouble}`, tone: 'bad', to };
}

/** What went wrong with calls that the user let run. */
export function News({ of, clear }: { of: readonly Notice[]; clear: () => void }): JSX.Element {
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
