import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import { dateTime, relative } from '../../contract/text/times';
import type { InboxItem } from '../../server/api';
import type { InboxRows } from '../inbox-rows';
import { keyOf } from '../model/inbox';
import { hrefOf } from '../model/route';
import { Text } from '../ui/text';
import { Deadline } from '../ui/widgets';

/** In pixels, as in the style sheet. */
const ROW_HEIGHT = 84;
/** Rows beyond each edge, so that a fast scroll shows no gap. */
const OVERSCAN = 8;

interface ListProps {
  rows: InboxRows;
  /** The address of the list. */
  query: string;
  /** The index of the current row; -1 where there is none. */
  current: number;
  now: number;
  /** Gets the first row in view, so that those around it can be read. */
  look: (first: number) => void;
}

/** The rows that match; only visible ones are drawn. */
export function InboxList({ rows: { page, offset }, query, current, now, look }: ListProps): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const count = page?.matching ?? 0;
  const virtualizer = useVirtualizer(count, ref);
  useEffect(
    () => (current < 0 ? undefined : virtualizer.scrollToIndex(current, { align: 'auto' })),
    [current],
  );
  const first = virtualizer.range?.startIndex ?? 0;
  useEffect(() => look(first), [first]);
  const drawn = virtualizer.getVirtualItems();
  const before = drawn[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (drawn.at(-1)?.end ?? 0);
  return (
    <div class="rows" ref={ref}>
      <ul style={{ paddingTop: `${before}px`, paddingBottom: `${after}px` }} aria-label="Waiting">
        {drawn.map(({ index }) => {
          const item = page?.rows[index - offset];
          const place = { place: index + 1, count };
          return item === undefined ? (
            <li key={index} class="row" {...placed(place)} />
          ) : (
            <Row key={keyOf(item)} {...{ item, query, now, isCurrent: index === current, ...place }} />
          );
        })}
      </ul>
    </div>
  );
}

/** Which rows to draw, of so many in a scrolling element. */
function useVirtualizer(
  count: number,
  ref: { current: HTMLDivElement | null },
): Virtualizer<HTMLDivElement, Element> {
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0);
  const options = {
    count,
    getScrollElement: () => ref.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => draw(undefined),
  };
  const virtualizer = useMemo(() => new Virtualizer<HTMLDivElement, Element>(options), []);
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

interface PlaceProps {
  place: number;
  count: number;
}

function placed({ place, count }: PlaceProps) {
  return { 'aria-setsize': count, 'aria-posinset': place };
}

interface RowProps extends PlaceProps {
  item: InboxItem;
  query: string;
  now: number;
  isCurrent: boolean;
}

function Row({ item, query, now, isCurrent, ...place }: RowProps): JSX.Element {
  const { turn, callId } = item;
  const isDoubt = item.kind === 'in_doubt';
  const rest = without(`${item.tool} `, without(`${callId} `, item.summary));
  return (
    <li class={`row${isDoubt ? ' in-doubt' : ''}`} {...placed(place)}>
      <a href={hrefOf({ at: 'call', turn, callId, query })} aria-current={isCurrent ? 'true' : undefined}>
        <span class="row-head">
          <code class="tool">
            <Text of={item.tool} />
          </code>
          {isDoubt && <span class="chip ask">in doubt</span>}
          {!isDoubt && <Deadline of={item.deadline} now={now} />}
        </span>
        <span class="row-summary">
          <Text of={rest} />
        </span>
        <span class="row-foot">
          <Text of={item.agent} /> ·{' '}
          <time dateTime={item.since} title={dateTime(item.since)}>
            {relative(item.since, now)}
          </time>{' '}
          · <Text of={item.prompt} kind="prose" />
        </span>
      </a>
    </li>
  );
}

function without(start: string, text: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}
