import { NO_LIMIT, type Figure } from './figure';

const ROW = 26;
const LABELS = 460;
const BARS = 320;
/** Bars beyond this are cut: the figure does not hold, by whatever much. */
const MOST = 1.5;
const WIDTH = LABELS + BARS * MOST + 70;

/** What is drawn of a figure. */
export type Bar = Pick<Figure<string>, 'figure' | 'limit' | 'ok' | 'share'>;

/** A bar a figure that has a limit: how much of that is used up. What is left of the line holds. */
export function chart(all: readonly Bar[]): string {
  const figures = all.filter(({ limit }) => limit !== NO_LIMIT);
  const height = figures.length * ROW + 44;
  const line = LABELS + BARS;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="How much of its limit each figure uses">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...figures.flatMap(bar),
    `<line x1="${line}" y1="4" x2="${line}" y2="${height - 28}" stroke="#b3261e" stroke-dasharray="4 3"/>`,
    `<text x="${line}" y="${height - 10}" text-anchor="middle" fill="#b3261e">limit</text>`,
    '</svg>',
    '',
  ].join('\n');
}

function bar({ figure, share, ok }: Bar, index: number): string[] {
  const y = index * ROW + 8;
  const width = Math.max(1, Math.round(Math.min(share, MOST) * BARS));
  return [
    `<text x="${LABELS - 10}" y="${y + 14}" text-anchor="end" fill="#222">${escaped(figure)}</text>`,
    `<rect x="${LABELS}" y="${y}" width="${width}" height="18" rx="2" fill="${ok ? '#2f6f4f' : '#b3261e'}"/>`,
    `<text x="${LABELS + width + 8}" y="${y + 14}" fill="#222">${Math.round(share * 100)} %</text>`,
  ];
}

/** Text as SVG takes it. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
