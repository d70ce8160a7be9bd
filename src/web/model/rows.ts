/** A long list of rows that are equally high. Pixels. */
export interface RowPlace {
  count: number;
  rowHeight: number;
  scrollTop: number;
  /** Of what is visible. */
  height: number;
}

/** The rows to draw, and the room that those left out take. */
export interface RowWindow {
  from: number;
  /** Not included. */
  to: number;
  before: number;
  after: number;
}

/** Rows beyond each edge, so that a fast scroll meets no hole. */
const BEYOND = 8;

/** Which rows of a list are worth drawing: thousands of rows cost what a screenful costs. */
export function rowWindow({ count, rowHeight, scrollTop, height }: RowPlace): RowWindow {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight) - BEYOND;
  const from = Math.min(Math.max(0, first), Math.max(0, count - 1));
  const to = Math.min(count, Math.ceil((Math.max(0, scrollTop) + height) / rowHeight) + BEYOND);
  return {
    from,
    to: Math.max(from, to),
    before: from * rowHeight,
    after: (count - Math.max(from, to)) * rowHeight,
  };
}

/** How far to scroll so that one row is whole in sight; undefined when it is. */
export function scrollFor(index: number, { rowHeight, scrollTop, height }: RowPlace): number | undefined {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
  return undefined;
}
