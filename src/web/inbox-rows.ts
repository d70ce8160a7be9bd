import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError, InboxPage } from '../server/api';
import { readInbox } from './http';
import { type LiveInbox, useTabVisible } from './live';

/** Which rows of the inbox to read. */
interface RowsWanted {
  /** The filter, as in the address of the list. */
  query: string;
  offset: number;
  limit: number;
}

/** Some rows of the inbox, and which they are. */
export interface InboxRows extends RowsWanted {
  /** Undefined until the first ones come. */
  page: InboxPage | undefined;
}

/**
 * Reads rows of the inbox, and reads them again whenever something changes. A hidden tab reads none. One question at a time:
 * answers come in order, and none is dropped for a newer question.
 */
export function useInboxRows(
  { query, offset, limit }: RowsWanted,
  { pulse, connection }: LiveInbox,
  fail: (status: number, error: ApiError) => void,
): InboxRows {
  const [rows, setRows] = useState<InboxRows>({ page: undefined, query, offset, limit });
  const shown = useRef(rows);
  const wanted = useRef<RowsWanted>(undefined);
  const isReading = useRef(false);
  const isVisible = useTabVisible();
  const read = async (): Promise<void> => {
    isReading.current = true;
    for (let asked = wanted.current; asked !== undefined; asked = wanted.current) {
      wanted.current = undefined;
      const { page, ...last } = shown.current;
      const isSame = last.query === asked.query && last.offset === asked.offset;
      const reply = await readInbox(asked, isSame ? page?.key : undefined);
      // The top line says that nobody answers.
      if (!reply.ok && reply.status > 0 && reply.status < 500) fail(reply.status, reply.error);
      if (!reply.ok || reply.data === null) continue;
      shown.current = { ...asked, page: reply.data };
      setRows(shown.current);
    }
    isReading.current = false;
  };
  const version = pulse?.version;
  useEffect(() => {
    if (version === undefined || !isVisible) return;
    wanted.current = { query, offset, limit };
    if (!isReading.current) void read();
  }, [query, offset, limit, version, connection === 'live', isVisible]);
  return rows;
}
