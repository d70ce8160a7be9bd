import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError, InboxPage } from '../server/api';
import { useTabVisible } from './ui/app';
import type { LiveInbox } from './shared-stream';
import { readInbox } from './http';

/** The rows of the inbox to read. */
interface RowsWanted {
  /** The filter, as in the address of the list. */
  query: string;
  offset: number;
  limit: number;
}

/** Some rows of the inbox, with the query and the positions that they are for. */
export interface InboxRows extends RowsWanted {
  /** Undefined until the first rows come. */
  page: InboxPage | undefined;
}

/** How many milliseconds after a read that failed the next one starts. */
const RETRY_MS = 1_000;

/**
 * Reads rows of the inbox, and reads them again whenever something changes, or if the web inbox could not answer. A
 * hidden tab reads no rows. There is one request at a time: answers come in order, and no answer is dropped for a newer
 * request.
 */
export function useInboxRows(
  { query, offset, limit }: RowsWanted,
  { pulse, connection }: LiveInbox,
  fail: (failed: { status: number; error: ApiError }) => void,
): InboxRows {
  const [rows, setRows] = useState<InboxRows>({ page: undefined, query, offset, limit });
  const shown = useRef(rows);
  const wanted = useRef<RowsWanted>(undefined);
  const isReading = useRef(false);
  const isShown = useRef(true);
  const isVisible = useTabVisible();
  const read = async () => {
    isReading.current = true;
    for (let asked = wanted.current; asked !== undefined; asked = wanted.current) {
      wanted.current = undefined;
      const { page, ...last } = shown.current;
      const isSame = last.query === asked.query && last.offset === asked.offset;
      const reply = await readInbox(asked, isSame ? page?.key : undefined);
      if (!reply.ok && reply.status > 0 && reply.status < 500) fail(reply);
      else if (!reply.ok) {
        // The top line of the page already says that the web inbox does not answer.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        if (isShown.current) wanted.current ??= asked;
      }
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
  useEffect(() => () => void (isShown.current = false), []);
  return rows;
}
