import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FILTER_CHARACTERS } from '../../contract/limits';
import { describeState } from '../../history/labels';
import { LISTED_STATES } from '../../contract/turn-states';
import { span } from '../../contract/text/times';
import type { TurnsPage, TurnSummary } from '../../server/api';
import { type Reply, send } from '../http';
import { useTabVisible } from '../live';
import { grouped } from '../model/inbox';
import { hrefOf, parametersOf, queryOf } from '../model/route';
import { Ago, Chip, SearchField, Select } from '../ui/widgets';
import { Code, Text } from '../ui/text';
import { showInList, useAppContext, useKeys, useNow } from '../ui/app';

/** Reads turns by the parameters of `TurnsPageQuery`. Empty parameters are left out. */
const readTurns = (query: Readonly<Record<string, string>>): Promise<Reply<TurnsPage>> =>
  send('GET', `api/turns?${queryOf(query)}`);

const STATES: readonly (readonly [string, string])[] = [
  ['', 'every state'],
  ...LISTED_STATES.map((state) => [state, describeState(state)[0]] as const),
];
/** The fields of the filter, as in the address. `from` and `to` are days, and both are included. */
const NAMES = ['text', 'state', 'agent', 'id', 'tool', 'from', 'to'] as const;
type TurnsFilter = Record<(typeof NAMES)[number], string>;

const FIELDS = [
  ['agent', 'Agent'],
  ['id', 'Id begins with'],
  ['tool', 'Tool that asked'],
] as const;
const DAYS = [
  ['from', 'Started from'],
  ['to', 'Started until'],
] as const;

/** Turns, the open ones first, with a search and filters. */
export function TurnsScreen({ query = '' }: { query: string | undefined }): JSX.Element {
  const filter = useMemo(() => parametersOf(query, NAMES), [query]);
  const { pages, readOlder } = useTurns(filter);
  const now = useNow();
  useKeys({ '/': () => document.getElementById('search')?.focus() });
  const turns = pages?.flatMap((page) => page.turns);
  return (
    <section class="turns" aria-labelledby="turns-title">
      <h1 id="turns-title" class="pane-title">
        Turns
        <a class="title-link" href={hrefOf({ at: 'named', name: 'decided' })}>
          Decided by you
        </a>
      </h1>
      <Filters filter={filter} />
      {turns === undefined && <p class="empty">Reading turns …</p>}
      {turns?.length === 0 && <p class="empty">No turn fits.</p>}
      <ul class="turn-list">
        {turns?.map((turn) => (
          <TurnRow key={turn.runId} turn={turn} now={now} />
        ))}
      </ul>
      {pages !== undefined && <Older pages={pages} readOlder={readOlder} />}
    </section>
  );
}

function Filters({ filter }: { filter: TurnsFilter }): JSX.Element {
  const show = (next: Partial<TurnsFilter>): void => showInList({ at: 'turns' }, queryOf(next));
  const field = (name: keyof TurnsFilter) => ({
    id: `filter-${name}`,
    value: filter[name],
    onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      show({ ...filter, [name]: currentTarget.value.trim() }),
  });
  return (
    <div class="filters turn-filters" role="search">
      <SearchField
        id="search"
        label="Search turns"
        placeholder="Search ids, agents and the beginning of prompts, in the newest 2,000"
        value={filter.text}
        change={(text) => show({ ...filter, text })}
      />
      <Select
        id="filter-state"
        label="State"
        value={filter.state}
        options={STATES}
        choose={(state) => show({ ...filter, state })}
      />
      {FIELDS.map(([name, label]) => (
        <label key={name} class="field-beside">
          {label} <input type="text" maxLength={FILTER_CHARACTERS} {...field(name)} />
        </label>
      ))}
      {DAYS.map(([name, label]) => (
        <label key={name} class="field-beside">
          {label} <input type="date" {...field(name)} />
        </label>
      ))}
      {queryOf(filter) !== '' && (
        <button class="button plain" type="button" onClick={() => show({})}>
          Clear
        </button>
      )}
    </div>
  );
}

/** How far the search went, with the button that continues it. */
function Older({ pages, readOlder }: { pages: readonly TurnsPage[]; readOlder: () => void }): JSX.Element {
  const shown = pages.reduce((count, { turns }) => count + turns.length, 0);
  const looked = pages.reduce((count, { searched }) => count + (searched?.turns ?? 0), 0);
  const isAll = pages.at(-1)?.older === null;
  return (
    <p class="older" role="status">
      {looked > 0 ? `${grouped(shown)} of ${grouped(looked)} turns searched.` : `${grouped(shown)} turns.`}{' '}
      {isAll ? 'There are no older ones.' : 'There are older ones.'}{' '}
      {!isAll && (
        <button class="button" type="button" onClick={readOlder}>
          {looked > 0 ? 'Search older ones' : 'Show older ones'}
        </button>
      )}
    </p>
  );
}

function TurnRow({ turn, now }: { turn: TurnSummary; now: number }): JSX.Element {
  return (
    <li>
      <a href={hrefOf({ at: 'turn', turn: turn.turn })}>
        <span class="turn-prompt">
          <Text of={turn.prompt} kind="prose" />
        </span>
        <span class="chips">
          {turn.forkOf !== undefined && (
            <span class="chip" title={`A fork of ${turn.forkOf}`}>
              fork
            </span>
          )}
          <Chip of={describeState(turn.state)} />
        </span>
        <span class="row-foot">
          <Text of={turn.agent} /> · started <Ago at={turn.startedAt} now={now} />
          {turn.endedAt !== null && ` · took ${span(Date.parse(turn.endedAt) - Date.parse(turn.startedAt))}`}
          {turn.pending > 0 && ` · ${turn.pending} waiting`} · <Code of={turn.turn} />
        </span>
      </a>
    </li>
  );
}

/** The milliseconds between two reads of the list. Each read costs the Temporal server at least one query. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Reads again when the inbox changes, because such a change is also a change of a turn. Stops reading again once older
 * pages are shown.
 */
function useTurns(filter: TurnsFilter) {
  const { inbox, fail } = useAppContext();
  const [pages, setPages] = useState<readonly TurnsPage[]>();
  const wanted = useRef(filter);
  const readAt = useRef(0);
  const isVisible = useTabVisible();
  const read = async (before: readonly TurnsPage[], isAnew = false): Promise<void> => {
    const older = before.at(-1)?.older ?? '';
    if (older === '') readAt.current = performance.now();
    const reply = await readTurns({ ...filter, ...daysOf(filter), older });
    // The answer to an earlier filter is ignored.
    if (wanted.current !== filter) return;
    if (reply.ok) {
      const next = [...before, reply.data];
      // Only a list that begins anew may have fewer pages: an older page may have come during a refresh.
      return setPages((last = []) => (isAnew || next.length >= last.length ? next : last));
    }
    // A server of another version does not know this place in the list.
    if (reply.status === 400 && older !== '') return read([], true);
    fail(reply);
  };
  useEffect(() => {
    wanted.current = filter;
    void read([], true);
  }, [filter]);
  const mayRefresh = isVisible && pages?.length === 1 && filter.text === '';
  useEffect(() => {
    if (!mayRefresh) return;
    const wait = Math.max(0, readAt.current + LOOK_AGAIN_MS - performance.now());
    const timer = setTimeout(() => void read([]), wait);
    return () => clearTimeout(timer);
  }, [inbox.pulse?.version, mayRefresh]);
  return { pages, readOlder: () => void read(pages ?? []) };
}

/** Days of this machine's calendar as moments. Both days are included. */
function daysOf({ from, to }: TurnsFilter): Record<'from' | 'to', string> {
  return { from: momentOf(from, 0), to: momentOf(to, 1) };
}

function momentOf(day: string, daysLater: number): string {
  const [year, month, date] = day.split('-').map(Number);
  if (year === undefined || month === undefined || date === undefined) return '';
  const moment = new Date(year, month - 1, date + daysLater);
  return Number.isNaN(moment.getTime()) ? '' : moment.toISOString();
}
