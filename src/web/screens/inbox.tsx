import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { LIMITS } from '../../contract/limits';
import type { InboxItem, InboxPage, NamedCount } from '../../server/api';
import { type InboxRows, useInboxRows } from '../inbox-rows';
import { BULK, toggled } from '../model/alike';
import { errorText } from '../model/labels';
import {
  countLabel,
  filterOf,
  filterQuery,
  grouped,
  type InboxFilter,
  isFiltering,
  keyOf,
  moveTo,
  NO_FILTER,
  offsetFor,
} from '../model/inbox';
import { Text } from '../ui/text';
import { goTo, showInList, useAppContext, useKeys, useLate } from '../ui/app';
import { Button, SearchField, Select } from '../ui/widgets';
import { CallPanel } from './call/call';
import { InboxList } from './inbox-list';

const MINUTE = 60_000;
const AGES: readonly (readonly [string, string])[] = [
  ['', 'any age'],
  [String(5 * MINUTE), 'over 5 min'],
  [String(60 * MINUTE), 'over 1 h'],
  [String(24 * 60 * MINUTE), 'over 1 day'],
];
const ORDERS = [
  ['', 'earliest deadline first'],
  ['newest', 'newest first'],
] as const;

interface FiltersProps {
  filter: InboxFilter;
  setFilter: (filter: InboxFilter) => void;
  page: InboxPage | undefined;
}

/** The fields that search, narrow and sort the list. */
function Filters({ filter, setFilter, page }: FiltersProps) {
  const choice = (field: 'tool' | 'agent' | 'olderThan' | 'sort', label: string) => ({
    id: `filter-${field}`,
    label,
    value: filter[field],
    choose: (value: string) => setFilter({ ...filter, [field]: value }),
  });
  const doubts = page?.doubts ?? 0;
  return (
    <div class="filters" role="search" aria-label="Filter">
      <SearchField
        id="search"
        label="Search the inbox"
        placeholder="Search id, tool, agent, text"
        value={filter.text}
        change={(text) => setFilter({ ...filter, text })}
      />
      <Button
        look="toggle"

        aria-pressed={filter.mine !== ''}
        onClick={() => setFilter({ ...filter, mine: filter.mine === '' ? '1' : '' })}
      >
        Mine
      </Button>
      <Button
        look={`toggle${doubts > 0 ? ' ask' : ''}`}

        aria-pressed={filter.doubt !== ''}
        onClick={() => setFilter({ ...filter, doubt: filter.doubt === '' ? '1' : '' })}
      >
        In doubt <span class="count">{grouped(doubts)}</span>
      </Button>
      <Select {...choice('tool', 'Tool')} options={named('tools', page?.tools, filter.tool)} />
      <Select {...choice('agent', 'Agent')} options={named('agents', page?.agents, filter.agent)} />
      <Select {...choice('olderThan', 'Age')} options={AGES} />
      <Select {...choice('sort', 'Order')} options={ORDERS} />
      {isFiltering(filter) && (
        <Button
          look="plain"

          onClick={() => setFilter({ ...NO_FILTER, sort: filter.sort })}
        >
          Clear
        </Button>
      )}
    </div>
  );
}

/** All names with their counts, and the chosen name even if nothing with that name waits any more. */
function named(all: string, counts: readonly NamedCount[] = [], chosen: string): [string, string][] {
  const options = counts.map(({ name, count }): [string, string] => [name, `${name} (${grouped(count)})`]);
  const isThere = chosen === '' || counts.some(({ name }) => name === chosen);
  return [
    ['', `all ${all}`],
    ...options,
    ...(isThere ? [] : [[chosen, `${chosen} (0)`] satisfies [string, string]]),
  ];
}

interface ScreenProps {
  /** The filter of the list, as in its address. */
  query: string | undefined;
  open?: OpenCall;
}

interface OpenCall {
  turn: string;
  callId: string;
}

const loadBulk = () => import('./bulk');
const loadToday = () => import('./today');

/** The part of the page that decides several requests together. It is loaded when a request is selected. */
function useBulk() {
  const { selection } = useAppContext();
  const isWanted = selection.items.length > 0 || selection.report !== undefined;
  const bulk = useLate(loadBulk, isWanted);
  const [isLooking, setLooking] = useState(false);
  return { bulk, isLooking: isLooking && bulk !== undefined, setLooking };
}

/** Everything that waits for a person, with the open item beside it. */
export function InboxScreen({ query: address = '', open }: ScreenProps) {
  const { inbox, fail } = useAppContext();
  const filter = useMemo(() => filterOf(address), [address]);
  const query = filterQuery(filter);
  const [first, look] = useState(0);
  const rows = useInboxRows({ query, offset: offsetFor(first), limit: LIMITS.inboxRows }, inbox, fail);
  const { current, decided } = useCursor(rows, open);
  const setFilter = (next: InboxFilter) => {
    look(0);
    showInList(open ? { at: 'call', ...open } : { at: 'inbox' }, filterQuery(next));
  };
  const { page } = rows;
  const { bulk, isLooking, setLooking } = useBulk();
  const today = useLate(loadToday, open === undefined && bulk === undefined);
  const hasOpen = open !== undefined || isLooking;
  const lookAtBulk = () => {
    setLooking(true);
    if (open) goTo({ at: 'inbox' });
  };
  // The open item has the first heading, because a narrow screen does not show the list beside it.
  const Title = hasOpen ? 'h2' : 'h1';
  return (
    <div class={`panes${hasOpen ? ' has-open' : ''}`}>
      <section class="pane list-pane" aria-labelledby="inbox-title">
        <Title id="inbox-title" class="pane-title">
          Inbox <span class="count">{page ? countLabel(page) : ''}</span>
          {page?.complete === false && <span class="quiet still"> still reading …</span>}
        </Title>
        <Filters {...{ filter, setFilter, page }} />
        {bulk && <bulk.SelectionBar rows={page?.rows ?? []} look={lookAtBulk} />}
        {page === undefined || page.matching === 0 ? (
          <Empty page={page} isFiltered={isFiltering(filter)} />
        ) : (
          <InboxList key={query} {...{ rows, query, current, look }} />
        )}
      </section>
      <section class="pane detail-pane" aria-label="Request">
        {open && <CallPanel key={`${open.turn}/${open.callId}`} {...open} decided={decided} />}
        {open === undefined && bulk !== undefined && (
          <bulk.BulkPanel isFirst={hasOpen} back={() => setLooking(false)} />
        )}
        {today && page !== undefined && <today.Today page={page} />}
      </section>
    </div>
  );
}

/** Shown in place of a list without rows. */
function Empty({ page, isFiltered }: { page: InboxPage | undefined; isFiltered: boolean }) {
  const { trouble } = useAppContext().inbox;
  if (page === undefined)
    return <p class="empty">{trouble ? <Text of={errorText(trouble)} /> : 'Reading the inbox …'}</p>;
  if (!page.complete) return <p class="empty">Nothing so far; still reading …</p>;
  if (isFiltered) return <p class="empty">Nothing fits the filter.</p>;
  return (
    <div class="empty">
      <p class="all-done">Nothing waits.</p>
      <p>New requests appear here by themselves.</p>
    </div>
  );
}

/** The current row, and the keys that move it. */
function useCursor({ page, offset }: InboxRows, open: OpenCall | undefined) {
  const { held, select } = useAppContext();
  const [cursor, setCursor] = useState<{ key: string; index: number }>();
  const items = page?.rows ?? [];
  const isFree = ({ turn, callId }: InboxItem) => held.every(({ key }) => key !== `${turn}/${callId}`);
  const indexOf = (isIt: (item: InboxItem) => boolean) => {
    const found = items.findIndex(isIt);
    return found < 0 ? -1 : found + offset;
  };
  const opened = open && indexOf(({ turn, callId }) => turn === open.turn && callId === open.callId);
  const current = opened ?? (cursor ? indexOf((item) => keyOf(item) === cursor.key) : -1);
  const openAt = (index: number) => {
    const item = items[index - offset];
    if (item) goTo({ at: 'call', turn: item.turn, callId: item.callId });
  };
  const move = (by: number) => {
    const index = moveTo(current < 0 ? (cursor?.index ?? -1) : current, by, page?.matching ?? 0);
    const item = items[index - offset];
    if (item === undefined) return;
    setCursor({ key: keyOf(item), index });
    if (open) openAt(index);
  };
  const place = useRef(0);
  useEffect(() => {
    if (current >= 0) place.current = current;
  }, [current]);
  const decided = () => {
    // The item may have left the list before its answer came. The next item then has the position of this item.
    const isThere = opened !== undefined && opened >= 0;
    const from = Math.max(0, (isThere ? opened + 1 : place.current) - offset);
    const before = items.slice(0, isThere ? from - 1 : from).reverse();
    // A decision that waits to be sent counts as made.
    const next = [...items.slice(from), ...before].find(isFree);
    if (next === undefined) goTo({ at: 'inbox' });
    else goTo({ at: 'call', turn: next.turn, callId: next.callId });
  };
  const enter = () => openAt(current);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => {
      const item = items[current - offset];
      const isHeld = held.some(({ key }) => key === BULK);
      if (item && !isHeld) select((last) => ({ ...last, items: toggled(last.items, item) }));
    },
    '/': () => document.getElementById('search')?.focus(),
    ...(open ? { Escape: () => goTo({ at: 'inbox' }) } : { Enter: enter, o: enter }),
  });
  return { current, decided };
}
