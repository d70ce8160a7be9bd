import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { InboxItem } from '../../../server/api';
import { errorWords } from '../../model/error-words';
import { countWords, keyOf, moveTo, neighbour, NO_FILTER, type InboxFilter } from '../../model/inbox';
import { Text } from '../../parts/text';
import { useDesk } from '../../state/desk';
import { useKeys } from '../../state/use-keys';
import { useNow } from '../../state/use-now';
import { goTo } from '../../state/use-route';
import { CallPanel } from '../call/call';
import { Filters } from './filters';
import { useItems } from './use-items';
import { InboxList } from './list';

/** Everything that waits for a person, and beside it the one that is open. */
export function InboxScreen({ open }: { open?: OpenCall }): JSX.Element {
  const { inbox } = useDesk();
  const [filter, setFilter] = useState<InboxFilter>(NO_FILTER);
  const now = useNow();
  const { all, items } = useItems(filter, now);
  const { current, decided } = useCursor(items, open);
  return (
    <div class={`panes${open === undefined ? '' : ' has-open'}`}>
      <section class="pane list-pane" aria-labelledby="inbox-title">
        <h1 id="inbox-title" class="pane-title">
          Inbox <span class="count">{countWords(items.length, inbox.snapshot?.total ?? 0)}</span>
        </h1>
        <Filters {...{ filter, setFilter, all }} />
        {inbox.snapshot === undefined ? (
          <p class="empty">
            {inbox.trouble === undefined ? 'Reading the inbox …' : <Text of={errorWords(inbox.trouble)} />}
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

/** Which line one is on, and the keys that move it. */
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
  // It may have left the list before its answer came; then the next one is where it was.
  const decided = (): void => {
    const next =
      opened === undefined
        ? items[Math.min(place.current, items.length - 1)]
        : neighbour(items, keyOf(opened));
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
