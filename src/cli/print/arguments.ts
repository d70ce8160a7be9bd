import type { Json, JsonObject } from '../../contract/json';
import { leavesOf } from '../../contract/leaves';
import type { Screen } from './screen';
import { visible, visibleLines } from './visible';
import { widthOf, wrap } from './width';

/** Longer names get a line of their own, so that the values stay aligned. */
const NAME_MOST = 24;

/** Arguments as `path  value` lines; text of several lines becomes a block with a bar before each line. */
export function argumentLines(args: JsonObject, screen: Pick<Screen, 'width' | 'style'>): string[] {
  const leaves = leavesOf(args).map(({ path, value }) => ({ name: visible(path), value }));
  if (leaves.length === 0) return [screen.style.quiet('(none)')];
  const most = Math.min(NAME_MOST, Math.floor(screen.width / 2));
  const short = leaves.map(({ name }) => widthOf(name)).filter((width) => width <= most);
  const named = Math.max(0, ...short) + 2;
  return leaves.flatMap(({ name, value }) => leafLines(name, value, { ...screen, named }));
}

type Place = Pick<Screen, 'width' | 'style'> & { named: number };

function leafLines(name: string, value: Json, { width, style, named }: Place): string[] {
  const { quiet, mark } = style;
  if (typeof value === 'string' && value.includes('\n')) {
    return [quiet(name), ...visibleLines(value, mark).map((line) => `${quiet('│')} ${line}`)];
  }
  const text = typeof value === 'string' && value !== '' ? visible(value) : visible(JSON.stringify(value));
  const [first = '', ...rest] = wrap(text, width - named);
  const pad = ' '.repeat(named);
  const more = rest.map((line) => pad + line);
  if (widthOf(name) + 2 > named) return [quiet(name), pad + first, ...more];
  return [quiet(name) + ' '.repeat(named - widthOf(name)) + first, ...more];
}
