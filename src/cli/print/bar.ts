/** What the parts of a bar are drawn with: they have to differ without colours too. */
const SHADES = ['█', '░', '·'] as const;

/**
 * Some counts as one bar, `most` being as long as `columns`. A part that is not 0 is never left out, so that one
 * failure among thousands shows.
 */
export function barOf(parts: readonly number[], most: number, columns: number): string {
  const total = parts.reduce((sum, part) => sum + part, 0);
  if (total === 0 || most === 0) return '';
  const lengths = parts.map((part) => (part === 0 ? 0 : Math.max(1, Math.round((part / most) * columns))));
  const over = lengths.reduce((sum, length) => sum + length, 0) - columns;
  const longest = lengths.indexOf(Math.max(...lengths));
  return lengths
    .map((length, at) => (at === longest ? length - Math.max(0, over) : length))
    .map((length, at) => (SHADES[at] ?? '·').repeat(Math.max(0, length)))
    .join('');
}
