import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FILTER_CHARACTERS } from '../../contract/limits';
import { describeState, wordsBy } from '../../history/labels';
import { LISTED_STATES } from '../../contract/turn-states';
import { span } from '../../contract/text/times';
import type { DecidedAnswer, DecidedCall, TurnsPage, TurnSummary } from '../../server/api';
import { type Reply, send } from '../http';
import { FACETS, peopleIn } from '../model/decided';
import { grouped } from '../model/inbox';
import { parametersOf, queryOf } from '../model/route';
import { Button, Ago, Chip, SearchField, Select } from '../ui/widgets';
import { ListRow, ListScreen } from '../ui/list';
import { Code, Reason, Text } from '../ui/text';
import { showInList, useAppContext, useKeys, usePolled, useTabVisible } from '../ui/app';

/** Reads turns by the parameters of `TurnsPageQuery`. Empty parameters are left out. */
const readTurns = (query: Readonly<Record<string, string>>): Promise<Reply<TurnsPage>> =>
  send('GET', `api/turns?${queryOf(query)}`);

const STATES: readonly (readonly [string, string])[] = [
  ['', 'every state'],
  ...LISTED_STATES.map((state) => [state, describeState(state)[0]] as const),
];
/** The fields of the filter, as in the address. `from` and `to` are days, and both are included. */
const NAMES = ['text', 'state', 'facet', 'by', 'agent', 'id', 'tool', 'from', 'to'] as const;
type TurnsFilter = Record<(typeof NAMES)[number], string>;

const FACET_OPTIONS = FACETS.map(
  ([facet, label]) => [facet, facet === '' ? 'every call' : `a call ${label}`] as const,
);
const TEXT = { type: 'text', maxLength: FILTER_CHARACTERS } as const;
const DAY = { type: 'date' } as const;
const AGENT = ['agent', 'Agent', TEXT] as const;
/** The fields that are folded up unless one is filled in. */
const MORE = [
  ['id', 'Id begins with', TEXT],
  ['tool', 'Tool that asked', TEXT],
  ['from', 'Started from', DAY],
  ['to', 'Started until', DAY],
] as const;

/** Turns, the open ones first, with a search and filters. */
export function TurnsScreen({ query = '' }: { query: string | undefined }) {
  const filter = useMemo(() => parametersOf(query, NAMES), [query]);
  const { pages, readOlder } = useTurns(filter);
  const { data: decided } = usePolled<DecidedAnswer>('api/decided?of=all', DECIDED_AGAIN_MS);
  const { by } = filter;
  const said = decided?.calls.filter(({ approver }) => by === '' || by === approver);
  const saidIn = ({ turn }: TurnSummary) => said?.find((one) => one.turn === turn);
  const turns = pages?.flatMap((page) => page.turns);
  useKeys({ '/': () => document.getElementById('search')?.focus() });
  return (
    <ListScreen
      name="turns"
      title={
        <>
          Turns
          <a class="title-link" href="#/decided">
            Decided by you
          </a>
        </>
      }
      rows={by === '' ? turns : said && turns?.filter(saidIn)}
      draw={(turn) => <TurnRow key={turn.runId} turn={turn} said={saidIn(turn)} />}
      none="No turn fits."
      after={pages !== undefined && <Older pages={pages} readOlder={readOlder} />}
    >
      <Filters filter={filter} people={peopleIn(decided?.calls ?? [])} />
      {by !== '' && <p class="quiet">Who decided is read in the newest {decided?.looked} turns.</p>}
    </ListScreen>
  );
}

function Filters({ filter, people }: { filter: TurnsFilter; people: string[] }) {
  const show = (next: Partial<TurnsFilter>) => showInList({ at: 'turns' }, queryOf(next));
  const field = ([name, label, kind]: typeof AGENT | (typeof MORE)[number]) => (
    <label key={name} class="field-beside">
      {label}{' '}
      <input
        {...kind}
        id={`filter-${name}`}
        value={filter[name]}
        onChange={({ currentTarget }) => show({ ...filter, [name]: currentTarget.value.trim() })}
      />
    </label>
  );
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
      <Select
        id="filter-facet"
        label="What happened to a call"
        value={filter.facet}
        options={FACET_OPTIONS}
        choose={(facet) => show({ ...filter, facet })}
      />
      <Select
        id="filter-by"
        label="By whom"
        value={filter.by}
        options={[['', 'by anybody'], ...people.map((name) => [name, `by ${name}`] as const)]}
        choose={(by) => show({ ...filter, by })}
      />
      {field(AGENT)}
      <details open={MORE.some(([name]) => filter[name] !== '')}>
        <summary>More filters</summary>
        {MORE.map(field)}
      </details>
      {queryOf(filter) !== '' && (
        <Button look="plain" onClick={() => show({})}>
          Clear
        </Button>
      )}
    </div>
  );
}

/** How far the search went, with the button that continues it. */
function Older({ pages, readOlder }: { pages: readonly TurnsPage[]; readOlder: () => void }) {
  const shown = pages.reduce((count, { turns }) => count + turns.length, 0);
  const looked = pages.reduce((count, { searched }) => count + (searched?.turns ?? 0), 0);
  const isAll = pages.at(-1)?.older === null;
  return (
    <p class="older" role="status">
      {looked > 0
        ? `${grouped(shown)} of ${grouped(looked)} turns searched.`
        : `${grouped(shown)} ${shown === 1 ? 'turn' : 'turns'}.`}{' '}
      {isAll ? 'There are no older ones.' : 'There are older ones.'}{' '}
      {!isAll && <Button onClick={readOlder}>{looked > 0 ? 'Search older ones' : 'Show older ones'}</Button>}
    </p>
  );
}

interface TurnRowProps {
  turn: TurnSummary;
  /** The last decision in it, if it is one of the turns whose histories were read. */
  said: DecidedCall | undefined;
}

function TurnRow({ turn, said }: TurnRowProps) {
  const { facets = [], forkOf } = turn;
  return (
    <ListRow
      to={{ at: 'turn', turn: turn.turn }}
      title={<Text of={turn.prompt || turn.turn} kind="prose" />}
      chips={
        <>
          {forkOf !== undefined && (
            <span class="chip" title={`A fork of ${forkOf}`}>
              fork
            </span>
          )}
          {FACETS.map(
            ([facet, label]) =>
              facet !== '' &&
              facets.includes(facet) && (
                <Chip key={facet} of={[label, facet === 'failed' ? 'bad' : 'quiet']} />
              ),
          )}
          <Chip of={describeState(turn.state)} />
        </>
      }
    >
      <Text of={turn.agent} /> · started <Ago at={turn.startedAt} />
      {turn.endedAt !== null && ` · took ${span(Date.parse(turn.endedAt) - Date.parse(turn.startedAt))}`}
      {turn.pending > 0 && ` · ${turn.pending} waiting`}
      {said && ' · '}
      {said && <Text of={wordsBy(said.what, said.approver)} />}
      <Reason of={said?.reason ?? said?.suggestion} />
      {turn.prompt !== '' && ' · '}
      {turn.prompt !== '' && <Code of={turn.turn} />}
    </ListRow>
  );
}

/** The milliseconds between two reads of what people decided. The server reads a turn that has ended only once. */
const DECIDED_AGAIN_MS = 60_000;
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
  const read = async (before: readonly TurnsPage[], isAnew = false) => {
    const older = before.at(-1)?.older ?? '';
    if (older === '') readAt.current = performance.now();
    const reply = await readTurns({
      ...filter,
      from: momentOf(filter.from, 0),
      to: momentOf(filter.to, 1),
      by: '',
      older,
    });
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

function momentOf(day: string, daysLater: number) {
  const [year, month, date] = day.split('-').map(Number);
  if (year === undefined || month === undefined || date === undefined) return '';
  const moment = new Date(year, month - 1, date + daysLater);
  return Number.isNaN(moment.getTime()) ? '' : moment.toISOString();
}
