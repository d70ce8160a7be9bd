import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { InboxItem } from '../../server/api';
import { errorText } from '../model/labels';
import {
  applyFilter,
  countBy,
  countLabel,
  type InboxFilter,
  isCut,
  keyOf,
  moveTo,
  neighbour,
  NO_FILTER,
  rowText,
  rowWindow,
  scrollFor,
} from '../model/inbox';
import { Text } from '../ui/text';
import { goTo, useAppContext, useKeys, useNow } from '../ui/app';
import { CallPanel } from './call/call';
import { readInbox } from '../http';
import { Deadline, Select } from '../ui/widgets';
import { relative } from '../../contract/text/times';
import { hrefOf } from '../model/route';

const MINUTE = 60_000;
const AGES: readonly (readonly [string, string])[] = [
  ['0', 'any age'],
  [String(5 * MINUTE), 'over 5 min'],
  [String(60 * MINUTE), 'over 1 h'],
  [String(24 * 60 * MINUTE), 'over 1 day'],
];

const FIELDS = [
  ['tool', 'Tool'],
  ['agent', 'Agent'],
] as const;

interface FiltersProps {
  filter: InboxFilter;
  setFilter: (filter: InboxFilter) => void;
  all: readonly InboxItem[];
}

/** Narrows the list by tool, agent and age. */
function Filters({ filter, setFilter, all }: FiltersProps): JSX.Element {
  const named = (field: 'tool' | 'agent'): [string, string][] => [
    ['', `all ${field}s`],
    ...countBy(all, field).map(([name, count]): [string, string] => [name, `${name} (${count})`]),
  ];
  const isSet = filter.tool !== '' || filter.agent !== '' || filter.olderThanMs !== 0;
  return (
    <div class="filters" role="group" aria-label="Filter">
      {FIELDS.map(([field, label]) => (
        <Select
          key={field}
          id={`filter-${field}`}
          label={label}
          value={filter[field]}
          options={named(field)}
          choose={(value) => setFilter({ ...filter, [field]: value })}
        />
      ))}
      <Select
        id="filter-age"
        label="Age"
        value={String(filter.olderThanMs)}
        options={AGES}
        choose={(age) => setFilter({ ...filter, olderThanMs: Number(age) })}
      />
      {isSet && (
        <button class="button plain" type="button" onClick={() => setFilter(NO_FILTER)}>
          Clear
        </button>
      )}
    </div>
  );
}

/** Everything that waits for a person, and beside it the open item. */
export function InboxScreen({ open }: { open?: OpenCall }): JSX.Element {
  const { inbox } = useAppContext();
  const [filter, setFilter] = useState<InboxFilter>(NO_FILTER);
  const now = useNow();
  const { all, items } = useItems(filter, now);
  const { current, decided } = useCursor(items, open);
  // The open call has the first heading, because beside it on a narrow screen there is no list.
  const Title = open === undefined ? 'h1' : 'h2';
  return (
    <div class={`panes${open === undefined ? '' : ' has-open'}`}>
      <section class="pane list-pane" aria-labelledby="inbox-title">
        <Title id="inbox-title" class="pane-title">
          Inbox <span class="count">{countLabel(items.length, inbox.snapshot?.total ?? 0)}</span>
        </Title>
        <Filters {...{ filter, setFilter, all }} />
        {inbox.snapshot === undefined ? (
          <p class="empty">
            {inbox.trouble === undefined ? 'Reading the inbox …' : <Text of={errorText(inbox.trouble)} />}
          </p>
        ) : (
          <InboxList
            {...{ items, current, now, isFiltered: all.length > 0 }}
            more={filter === NO_FILTER ? inbox.snapshot.total - all.length : 0}
          />
        )}
      </section>
      <section class="pane detail-pane" aria-label="Request">
        {open === undefined ? (
          <p class="empty">{items.length === 0 ? '' : 'Choose one, or press j.'}</p>
        ) : (
          <CallPanel key={`${open.turn}/${open.callId}`} {...open} decided={decided} />
        )}
      </section>
    </div>
  );
}

interface OpenCall {
  turn: string;
  callId: string;
}

/** The current row, and the keys that move it. */
function useCursor(items: readonly InboxItem[], open: OpenCall | undefined) {
  const [cursor, setCursor] = useState<string>();
  const opened = open && items.find(({ turn, callId }) => turn === open.turn && callId === open.callId);
  const current = opened === undefined ? cursor : keyOf(opened);
  const index = items.findIndex((item) => keyOf(item) === current);
  const move = (by: number): void => {
    const next = items[moveTo(index, by, items.length)];
    if (next === undefined) return;
    setCursor(keyOf(next));
    if (open !== undefined) goTo({ at: 'call', ...next });
  };
  const enter = (): void => {
    const item = items[index];
    if (item !== undefined) goTo({ at: 'call', ...item });
  };
  const place = useRef(0);
  if (index >= 0) place.current = index;
  // The item may have left the list before its answer came; then the next one has its index.
  const left = items[Math.min(place.current, items.length - 1)];
  const decided = (): void => {
    const next = opened === undefined ? left : neighbour(items, keyOf(opened));
    goTo(next === undefined ? { at: 'inbox' } : { at: 'call', ...next });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    '/': () => document.getElementById('filter-tool')?.focus(),
    ...(open === undefined ? { Enter: enter, o: enter } : { Escape: () => goTo({ at: 'inbox' }) }),
  });
  return { current, decided };
}

const NONE: readonly InboxItem[] = [];

/** All received items, and those that match the filter. The stream sends only the first of a long inbox, so a filter then asks the server. */
function useItems(filter: InboxFilter, now: number): Record<'all' | 'items', readonly InboxItem[]> {
  const { inbox, fail } = useAppContext();
  const { snapshot } = inbox;
  const all = snapshot?.items ?? NONE;
  const [found, setFound] = useState<{ filter: InboxFilter; items: readonly InboxItem[] }>();
  const asks = filter !== NO_FILTER && snapshot !== undefined && isCut(snapshot);
  useEffect(() => {
    if (!asks) return setFound(undefined);
    const { tool, agent, olderThanMs } = filter;
    void readInbox({ tool, agent, olderThan: olderThanMs === 0 ? '' : String(olderThanMs) }).then((reply) => {
      if (reply.ok) setFound({ filter, items: reply.data.items });
      else fail(reply.status, reply.error);
    });
  }, [asks, filter, snapshot?.at]);
  const source = asks && found?.filter === filter ? found.items : all;
  // Age counts in minutes, so thousands of items need no sorting once a second.
  const items = useMemo(() => applyFilter(source, filter, now), [source, filter, Math.floor(now / 60_000)]);
  return { all, items };
}

/** In pixels, as in the style sheet. */
const ROW_HEIGHT = 84;

interface ListProps {
  items: readonly InboxItem[];
  current: string | undefined;
  now: number;
  isFiltered: boolean;
  /** How many items wait that were not sent. */
  more: number;
}

/** The list; only visible rows are drawn. */
function InboxList({ items, current, now, isFiltered, more }: ListProps): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrollTop: 0, height: 800 });
  const place = { count: items.length, rowHeight: ROW_HEIGHT, ...view };
  const look = (): void => {
    const { scrollTop, clientHeight } = ref.current ?? { scrollTop: 0, clientHeight: 800 };
    setView({ scrollTop, height: clientHeight });
  };
  useEffect(() => {
    look();
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  const index = items.findIndex((item) => keyOf(item) === current);
  useEffect(() => {
    const to = index < 0 ? undefined : scrollFor(index, place);
    if (to !== undefined) ref.current?.scrollTo({ top: to });
  }, [current]);
  const { from, to, before, after } = rowWindow(place);
  return (
    <div class="rows" ref={ref} onScroll={look}>
      {items.length === 0 && <Empty isFiltered={isFiltered} />}
      <ul
        style={{ paddingTop: `${before}px`, paddingBottom: `${after}px` }}
        aria-label="Waiting, earliest deadline first"
      >
        {items.slice(from, to).map((item, at) => (
          <Row
            key={keyOf(item)}
            {...{ item, now, isCurrent: keyOf(item) === current, place: from + at + 1, count: items.length }}
          />
        ))}
      </ul>
      {more > 0 && (
        <p class="empty">
          {more} more wait. They appear as these are decided; a filter searches all of them.
        </p>
      )}
    </div>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered) return <p class="empty">Nothing fits the filter.</p>;
  return (
    <div class="empty">
      <p class="all-done">Nothing waits.</p>
      <p>New requests appear here by themselves.</p>
    </div>
  );
}

interface RowProps {
  item: InboxItem;
  now: number;
  isCurrent: boolean;
  place: number;
  count: number;
}

function Row({ item, now, isCurrent, place, count }: RowProps): JSX.Element {
  return (
    <li class="row" aria-setsize={count} aria-posinset={place}>
      <a href={hrefOf({ at: 'call', ...item })} aria-current={isCurrent ? 'true' : undefined}>
        <span class="row-head">
          <code class="tool">
            <Text of={item.tool} />
          </code>
          {item.kind === 'in_doubt' && <span class="chip ask">in doubt</span>}
          <Deadline of={item.deadline} now={now} />
        </span>
        <span class="row-summary">
          <Text of={rowText(item)} />
        </span>
        <span class="row-foot">
          <Text of={item.agent} /> · {relative(item.since, now)} · <Text of={item.prompt} kind="prose" />
        </span>
      </a>
    </li>
  );
}
