import { useEffect, useRef, useState } from 'preact/hooks';
import type { InboxItem } from '../../server/api';
import type { InboxRows } from '../inbox-rows';
import { BULK, isSelected, mayJoin, toggled } from '../model/alike';
import { keyOf, rowWindow, scrollFor, votesText } from '../model/inbox';
import { titleIn } from '../../contract/text/call-title';
import { hrefOf } from '../model/route';
import { useAppContext } from '../ui/app';
import { Text, visibleText } from '../ui/text';
import { Ago, Deadline } from '../ui/widgets';

/** The height of a row in pixels, as in the style sheet. */
const ROW_HEIGHT = 84;

interface ListProps {
  rows: InboxRows;
  /** The address of the list. */
  query: string;
  /** The index of the current row. -1 if there is none. */
  current: number;
  /** Called with the first row in view, so that the rows around it can be read. */
  look: (first: number) => void;
}

/** The rows that match. Only visible rows are drawn. */
export function InboxList({ rows: { page, offset }, query, current, look }: ListProps) {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrollTop: 0, height: 800 });
  const count = page?.matching ?? 0;
  const place = { count, rowHeight: ROW_HEIGHT, ...view };
  const measure = () => {
    const { scrollTop, clientHeight } = ref.current ?? { scrollTop: 0, clientHeight: 800 };
    setView({ scrollTop, height: clientHeight });
  };
  useEffect(() => {
    measure();
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, []);
  useEffect(() => {
    const top = current < 0 ? undefined : scrollFor(current, place);
    if (top !== undefined) ref.current?.scrollTo({ top });
  }, [current]);
  const { from, to, before, after } = rowWindow(place);
  useEffect(() => look(from), [from]);
  return (
    <div class="rows" ref={ref} onScroll={measure}>
      <ul style={{ paddingTop: `${before}px`, paddingBottom: `${after}px` }} aria-label="Waiting">
        {Array.from({ length: to - from }, (_, at) => {
          const index = from + at;
          const item = page?.rows[index - offset];
          const spot = { place: index + 1, count };
          return item ? (
            <Row key={keyOf(item)} {...{ item, query, isCurrent: index === current, ...spot }} />
          ) : (
            <li key={index} class="row" {...placed(spot)} />
          );
        })}
      </ul>
    </div>
  );
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
  isCurrent: boolean;
}

function Row({ item, query, isCurrent, ...place }: RowProps) {
  const { turn, callId } = item;
  const isDoubt = item.kind === 'in_doubt';
  const votes = votesText(item);
  return (
    <li class={`row${isDoubt ? ' in-doubt' : ''}`} {...placed(place)}>
      {item.kind === 'request' && <SelectBox item={item} />}
      <a href={hrefOf({ at: 'call', turn, callId, query })} aria-current={isCurrent ? 'true' : undefined}>
        <span class="row-head">
          <span class="row-summary">
            <Text of={titleIn(item)} />
          </span>
          {votes !== '' && <span class="chip quiet">{votes}</span>}
          {isDoubt && <span class="chip ask">in doubt</span>}
          {item.kind === 'question' && <span class="chip ask">question</span>}
          {!isDoubt && <Deadline of={item.deadline} />}
        </span>
        <span class="row-foot">
          <code>
            <Text of={item.tool} />
          </code>{' '}
          · <Text of={item.agent} /> · <Ago at={item.since} />{' '}
          {item.lineage?.[0] !== undefined && (
            <>
              · for <Text of={item.lineage[0].agent} />
            </>
          )}
        </span>
        <span class="row-foot">
          <Text of={item.prompt} kind="prose" />
        </span>
      </a>
    </li>
  );
}

/** A checkbox that selects a request, to decide it together with similar requests. */
export function SelectBox({ item }: { item: InboxItem }) {
  const { selection, select, held } = useAppContext();
  const { items } = selection;
  const isFree = mayJoin(items, item) && held.every(({ key }) => key !== BULK);
  return (
    <label
      class="pick"
      title={isFree ? undefined : 'Requests of one tool and one agent are decided together'}
    >
      <input
        type="checkbox"
        aria-label={`Select ${item.callId} ${visibleText(titleIn(item))}`}
        aria-keyshortcuts="x"
        checked={isSelected(items, item)}
        disabled={!isFree}
        onChange={() => select((last) => ({ ...last, items: toggled(last.items, item) }))}
      />
    </label>
  );
}
