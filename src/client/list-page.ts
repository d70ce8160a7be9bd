import { CountersignError } from '../contract/errors';
import { parseJson } from '../contract/json';
import { guard } from '../contract/schema/message';
import { flag, list, object, text } from '../contract/schema/shape';

/**
 * The most turns or sessions that are looked at for one page, if visibility cannot tell which of them belong to it:
 * it cannot search prompts, and does not know who may see what.
 */
export const MOST_LOOKED = 2_000;

/** A place in a list. `ids` are those listed before it that started, or ended, in the same millisecond. */
export interface Edge {
  isOpen: boolean;
  /** The time when an open one started, or when another one ended. ISO 8601. */
  at: string;
  ids: string[];
}

/** The place after a row. Without an id, the row is not listed, and the place does not name it. */
function edgeAt(
  { startedAt, endedAt }: { startedAt: string; endedAt: string | null },
  before: Edge | undefined,
  id?: string,
): Edge {
  const place = { isOpen: endedAt === null, at: endedAt ?? startedAt };
  const isSame = before?.isOpen === place.isOpen && before.at === place.at;
  return { ...place, ids: [...(isSame ? before.ids : []), ...(id === undefined ? [] : [id])] };
}

/** How far a list is read for one page, and what the page gets. */
interface PagePlan<T> {
  limit: number;
  /** The most rows that are looked at, also if they are not seen. @default no limit */
  most?: number;
  /** Where the page begins. */
  after: Edge | undefined;
  idOf(row: T): string;
  /** Whether the reader may know of a row. The edge names no other row. */
  isSeen(row: T): boolean;
  /** Whether a row that is seen is on the page. @default all */
  isListed?(row: T): boolean;
}

/** Reads rows until a page is full. A row with the id of an earlier one is left out. */
export async function readPage<T extends { startedAt: string; endedAt: string | null }>(
  rows: AsyncIterable<T>,
  { limit, most = Infinity, after, idOf, isSeen, isListed = () => true }: PagePlan<T>,
): Promise<{ found: T[]; looked: number; edge: Edge | undefined }> {
  const found = new Map<string, T>();
  let [looked, passed] = [0, 0];
  let edge = after;
  for await (const row of rows) {
    const id = idOf(row);
    if (after?.ids.includes(id) === true) continue;
    const wasSeen = isSeen(row);
    if ((wasSeen && found.size >= limit) || passed >= most)
      return { found: [...found.values()], looked, edge };
    passed += 1;
    edge = edgeAt(row, edge, wasSeen ? id : undefined);
    if (!wasSeen) continue;
    looked += 1;
    if (!found.has(id) && isListed(row)) found.set(id, row);
  }
  return { found: [...found.values()], looked, edge: undefined };
}

/**
 * A filter for what comes after a place. Visibility keeps fractions of milliseconds, so the whole millisecond is listed
 * again.
 */
export function afterEdge({ isOpen, at }: Edge): string {
  const next = new Date(Date.parse(at) + 1).toISOString();
  return isOpen
    ? `(ExecutionStatus != 'Running' OR StartTime < '${next}')`
    : `(ExecutionStatus != 'Running' AND CloseTime < '${next}')`;
}

const isEdge = guard(object({ isOpen: flag(), at: text(), ids: list(text()) }));

/** The place as the opaque text of `older`. */
export function writeEdge(edge: Edge): string {
  return Buffer.from(JSON.stringify(edge)).toString('base64url');
}

/** @throws CountersignError `usage`. */
export function readEdge(older: string): Edge {
  const edge = parseJson(Buffer.from(older, 'base64url').toString());
  if (isEdge(edge) && !Number.isNaN(Date.parse(edge.at))) return edge;
  throw new CountersignError('usage', 'older: this is not the end of a page');
}
