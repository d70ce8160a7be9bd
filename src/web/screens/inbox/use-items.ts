import { useEffect, useMemo, useState } from 'preact/hooks';
import type { InboxItem } from '../../../server/api';
import { readInbox } from '../../api/http';
import { applyFilter, isCut, NO_FILTER, type InboxFilter } from '../../model/inbox';
import { useDesk } from '../../state/desk';

const NONE: readonly InboxItem[] = [];

/** What came of the inbox, and the lines that fit the filter. Of a long inbox only the nearest deadlines come by themselves, so a filter asks the server. */
export function useItems(
  filter: InboxFilter,
  now: number,
): { all: readonly InboxItem[]; items: readonly InboxItem[] } {
  const { inbox, fail } = useDesk();
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
  // Age counts in minutes: sorting thousands once a second would be for nothing.
  const items = useMemo(() => applyFilter(source, filter, now), [source, filter, Math.floor(now / 60_000)]);
  return { all, items };
}
