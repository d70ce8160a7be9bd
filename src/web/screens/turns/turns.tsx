import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { TURN_STATES } from '../../../contract/turn';
import { relative, span } from '../../../contract/times';
import type { TurnSummary } from '../../../server/api';
import { readTurns } from '../../api/http';
import { hrefOf } from '../../model/route';
import { stateWords } from '../../model/words';
import { Chip } from '../../parts/chip';
import { Select } from '../../parts/select';
import { Text } from '../../parts/text';
import { useDesk } from '../../state/desk';
import { useNow } from '../../state/use-now';

const STATES: readonly (readonly [string, string])[] = [
  ['', 'every state'],
  ...[...TURN_STATES, 'terminated' as const, 'timed_out' as const].map((state): [string, string] => [
    state,
    stateWords(state)[0],
  ]),
];
/** Typing waits this long for the next key before it asks. */
const TYPING_MS = 250;

/** Turns, newest first, with search and states. */
export function TurnsScreen(): JSX.Element {
  const [state, setState] = useState('');
  const [search, setSearch] = useState('');
  const turns = useTurns(state, search);
  const now = useNow();
  return (
    <section class="turns" aria-labelledby="turns-title">
      <h1 id="turns-title" class="pane-title">
        Turns
      </h1>
      <div class="filters" role="search">
        <input
          type="search"
          aria-label="Search turns"
          placeholder="Search what was asked, an agent or an id"
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
  const [words, tone] = stateWords(turn.state);
  const took = Date.parse(turn.endedAt ?? new Date(now).toISOString()) - Date.parse(turn.startedAt);
  return (
    <li>
      <a href={hrefOf({ at: 'turn', turn: turn.turn })}>
        <span class="turn-prompt">
          <Text of={turn.prompt} />
        </span>
        <Chip tone={tone}>{words}</Chip>
        <span class="row-foot">
          <Text of={turn.agent} /> · {relative(turn.startedAt, now)} · {span(took)}
          {turn.pending > 0 && ` · ${turn.pending} waiting`} ·{' '}
          <code>
            <Text of={turn.turn} />
          </code>
        </span>
      </a>
    </li>
  );
}

/** Read again when the filter or the inbox changes: a turn that asks or is answered shows there first. */
function useTurns(state: string, search: string): readonly TurnSummary[] | undefined {
  const { inbox, fail } = useDesk();
  const [turns, setTurns] = useState<readonly TurnSummary[]>();
  const wanted = useRef('');
  const filter = JSON.stringify({ state, search });
  const read = async (): Promise<void> => {
    const reply = await readTurns({ state, search });
    // An answer to what was typed before is late.
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
