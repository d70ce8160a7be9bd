import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { relative } from '../../../contract/times';
import type { InboxItem } from '../../../server/api';
import { keyOf } from '../../model/inbox';
import { hrefOf } from '../../model/route';
import { rowWindow, scrollFor } from '../../model/rows';
import { Deadline } from '../../parts/deadline';
import { Text } from '../../parts/text';

/** Pixels; the style sheet has the same. */
const ROW_HEIGHT = 84;

interface ListProps {
  items: readonly InboxItem[];
  current: string | undefined;
  now: number;
  isFiltered: boolean;
  /** How many wait beyond those that came. */
  more: number;
}

/** The list; only the rows in sight are drawn. */
export function InboxList({ items, current, now, isFiltered, more }: ListProps): JSX.Element {
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
        <p class="empty">{more} more wait. They come up as these are decided; a filter looks at all.</p>
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
  const summary = item.summary.startsWith(`${item.callId} `)
    ? item.summary.slice(item.callId.length + 1)
    : item.summary;
  const rest = summary.startsWith(`${item.tool} `) ? summary.slice(item.tool.length + 1) : summary;
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
          <Text of={rest} />
        </span>
        <span class="row-foot">
          <Text of={item.agent} /> · {relative(item.since, now)} · <Text of={item.prompt} />
        </span>
      </a>
    </li>
  );
}
