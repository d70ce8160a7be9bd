import { escaped } from '../chart';
import { grouped } from '../print';
import { isMeasured } from './growth';
import { costAt, eachRow, type Column, type RowId } from './rows';

const PLOT = { left: 60, top: 24, width: 460, height: 400 } as const;
const LABELS = 390;
const LINE = 16;
const WIDTH = PLOT.left + PLOT.width + LABELS;
const COLOURS = ['#2f6f4f', '#1f5fa8', '#8a5a00', '#6b3fa0', '#007a87', '#a03f6b'] as const;

/** Where a row is at a size: both relative to the smallest size, by their powers of ten. */
interface Point {
  x: number;
  y: number;
  isMeasured: boolean;
}

interface Curve {
  name: string;
  colour: string;
  points: readonly Point[];
}

/** What each row costs against its cost at the smallest size. The red line grows as fast as the size; dashed and hollow is extrapolated. */
export function chart(columns: readonly Column[]): string {
  const curves = eachRow((id, { name }) => ({ name, points: pointsOf(columns, id) })).map((curve, index) => ({
    ...curve,
    colour: COLOURS[index % COLOURS.length] ?? '#222',
  }));
  const powers = Math.max(1, ...curves.flatMap(({ points }) => points.map(({ x }) => x)));
  const labelled = labels(curves, powers);
  const height = Math.max(PLOT.top + PLOT.height + 40, ...labelled.map(({ at }) => at + LINE));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="What each figure costs against the number of waiting turns">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...axes(columns, powers),
    ...curves.flatMap((curve) => drawn(curve, powers)),
    ...labelled.map(
      ({ name, colour, at }) =>
        `<text x="${PLOT.left + PLOT.width + 12}" y="${at}" fill="${colour}">${escaped(name)}</text>`,
    ),
    '</svg>',
    '',
  ].join('\n');
}

function pointsOf(columns: readonly Column[], id: RowId): Point[] {
  const [first] = columns;
  if (first === undefined) return [];
  return columns.map((column) => ({
    x: Math.log10(column.size / first.size),
    y: Math.log10(costAt(column, id) / costAt(first, id)),
    isMeasured: isMeasured(column),
  }));
}

/** The lowest power is one tenth: a row may cost less at a larger size. */
function place({ x, y }: Pick<Point, 'x' | 'y'>, powers: number): { x: number; y: number } {
  const share = (Math.min(Math.max(y, -1), powers + 0.3) + 1) / (powers + 1.3);
  return {
    x: Math.round(PLOT.left + (x / powers) * PLOT.width),
    y: Math.round(PLOT.top + PLOT.height * (1 - share)),
  };
}

function axes(columns: readonly Column[], powers: number): string[] {
  const [smallest] = columns;
  const [from, to] = [place({ x: 0, y: 0 }, powers), place({ x: powers, y: powers }, powers)];
  const bottom = PLOT.top + PLOT.height;
  const factors = Array.from({ length: Math.floor(powers) + 2 }, (_, index) => index - 1);
  return [
    ...factors.map((y) => {
      const at = place({ x: 0, y }, powers).y;
      return `<line x1="${PLOT.left}" y1="${at}" x2="${PLOT.left + PLOT.width}" y2="${at}" stroke="#ddd"/><text x="${PLOT.left - 8}" y="${at + 4}" text-anchor="end" fill="#222">${10 ** y}×</text>`;
    }),
    ...columns.map((column) => {
      const { x } = place({ x: Math.log10(column.size / (smallest?.size ?? NaN)), y: 0 }, powers);
      const note = isMeasured(column) ? '' : ' extrapolated';
      return `<text x="${x}" y="${bottom + 20}" text-anchor="middle" fill="#222">${grouped(column.size)}${note}</text>`;
    }),
    `<line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" stroke="#b3261e" stroke-dasharray="4 3"/>`,
    `<text x="${to.x - 6}" y="${to.y - 6}" text-anchor="end" fill="#b3261e">linear</text>`,
  ];
}

function drawn({ points, colour }: Curve, powers: number): string[] {
  const placed = points.map((point) => ({ ...point, ...place(point, powers) }));
  const lines = placed.slice(1).map((to, index) => {
    const from = placed[index] ?? to;
    const dash = to.isMeasured ? '' : ' stroke-dasharray="2 4"';
    return `<line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" stroke="${colour}"${dash}/>`;
  });
  const dots = placed.map(
    ({ x, y, isMeasured: isRun }) =>
      `<circle cx="${x}" cy="${y}" r="3" fill="${isRun ? colour : '#fff'}" stroke="${colour}"/>`,
  );
  return [...lines, ...dots];
}

/** A label beside the end of each curve; those that would overlap move down. */
function labels(curves: readonly Curve[], powers: number): { name: string; colour: string; at: number }[] {
  const wanted = curves
    .map(({ name, colour, points }) => ({
      ...{ name, colour },
      at: place(points.at(-1) ?? { x: 0, y: 0 }, powers).y + 4,
    }))
    .sort((a, b) => a.at - b.at);
  let last = 0;
  return wanted.map((label) => {
    last = Math.max(label.at, last + LINE);
    return { ...label, at: last };
  });
}
