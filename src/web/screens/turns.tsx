import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { describeState } from '../../history/labels';
import { TURN_STATES } from '../../contract/turn';
import { dateTime, relative, span } from '../../contract/text/times';
import type { TurnSummary } from '../../server/api';
import { readTurns } from '../http';
import { hrefOf } from '../model/route';
import { Chip, Select } from '../ui/widgets';
import { Text } from '../ui/text';
import { useAppContext, useNow } from '../ui/app';

const STATES: readonly (readonly [string, string])[] = [
  ['', 'every state'],
  ...([...TURN_STATES, 'terminated', 'timed_out'] as const).map(
    (state) => [state, describeState(state)[0]] as const,
  ),
];
/** The search starts this long after the last key. Milliseconds. */
const TYPING_MS = 250;

/** Turns, newest first, with a search and a filter by state. */
export function TurnsScreen(): JSX.Element {
  const [state, setState] = useState('');
  const [search, setSearch] = useState('');
  const turns = useTurns(state, search);
  const now = useNow();
  return (
    <section class="turns" aria-labelledby="turns-title">
      <h1 id="turns-title" class="pane-title">
        Turns
        <a class="title-link" href={hrefOf({ at: 'decided' })}>
          Decided by you
        </a>
      </h1>
      <div class="filters" role="search">
        <input
          type="search"
          aria-label="Search turns"
          placeholder="Search the beginning of prompts, or of an id"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <Select id="state" label="State" value={state} options={STATES} choose={setState} />
      </div>
      {turns === undefined && <p class="empty">Reading turns …</p>}
      {turns?.length === 0 && <p class="empty">No turn fits.</p>}
      <ul class="turn-list">
        {turns?.map((turn) => (
          <TurnRow key={turn.runId} turn={turn} now={now} />
        ))}
      </ul>
    </section>
  );
}

function TurnRow({ turn, now }: { turn: TurnSummary; now: number }): JSX.Element {
  return (
    <li>
      <a href={hrefOf({ at: 'turn', turn: turn.turn })}>
        <span class="turn-prompt">
          <Text of={turn.prompt} kind="prose" />
        </span>
        <Chip of={describeState(turn.state)} />
        <span class="row-foot">
          <Text of={turn.agent} /> · started{' '}
          <time dateTime={turn.startedAt} title={dateTime(turn.startedAt)}>
            {relative(turn.startedAt, now)}
          </time>
          {turn.endedAt !== null && ` · took ${span(Date.parse(turn.endedAt) - Date.parse(turn.startedAt))}`}
          {turn.pending > 0 && ` · ${turn.pending} waiting`} ·{' '}
          <code>
            <Text of={turn.turn} />
          </code>
        </span>
      </a>
    </li>
  );
}

/** Reads again when the filter or the inbox changes, because a change of the inbox is a change of a turn. */
function useTurns(state: string, search: string): readonly TurnSummary[] | undefined {
  const { inbox, fail } = useAppContext();
  const [turns, setTurns] = useState<readonly TurnSummary[]>();
  const wanted = useRef('');
  const filter = JSON.stringify({ state, search });
  const read = async (): Promise<void> => {
    const reply = await readTurns({ state, search });
    // Ignores the answer to an earlier filter.
    if (wanted.current !== filter) return;
    if (reply.ok) setTurns(reply.data);
    else fail(reply.status, reply.error);
  };
  useEffect(() => {
    wanted.current = filter;
    const timer = setTimeout(() => void read(), TYPING_MS);
    return () => clearTimeout(timer);
  }, [filter]);
  useEffect(() => (turns === undefined ? undefined : void read()), [inbox.snapshot?.at]);
  return turns;
}
