import type { InboxItem } from '../../client';
import { shellWord } from '../../contract/text/shell-word';
import { describeModel } from '../../history/model-label';
import type { Context } from '../context';
import type { InboxChange } from '../../client/inbox/live';
import type { Screen } from './screen';
import { tableLines, type Cell } from './table';
import { clock, expiry, relative } from '../../contract/text/times';
import { escapeText } from '../../contract/text/escape';

/** The inbox as a table, and the commands to type next. */
export function inboxLines(
  items: readonly InboxItem[],
  context: Pick<Context, 'screen' | 'command'>,
  now: number,
  ids: ReadonlyMap<string, string> = new Map(),
): string[] {
  const { screen } = context;
  const idOf = ({ turn, callId }: InboxItem) => `${ids.get(turn) ?? turn}/${callId}`;
  const [first] = items;
  if (first === undefined) return ['Nothing waits for a person.'];
  const head = ['CALL', 'WHAT', 'AGENT', 'WAITS', 'EXPIRES', 'CALLS FOR'];
  const rows = items.map((item) => row(item, idOf(item), screen, now));
  const isPlain = items.every(({ kind }) => kind === 'request');
  const drop = isPlain ? [1, 2, 3, 4] : [2, 3, 4, 1];
  return [
    ...tableLines({ head, rows, flex: 5, drop }, screen),
    ...(screen.isTerminal ? ['', `Look at one: ${context.command(`show ${shellWord(idOf(first))}`)}`] : []),
  ];
}

function row(item: InboxItem, id: string, screen: Screen, now: number): (Cell | string)[] {
  const { style } = screen;
  const isDoubt = item.kind === 'in_doubt';
  return [
    escapeText(id),
    { text: kindText(item), paint: isDoubt ? style.bad : style.warn },
    escapeText(item.agent),
    waits(item, now),
    expiry(item.deadline, now),
    isDoubt && screen.width < NARROW
      ? { text: `in doubt: ${escapeText(withoutId(item))}`, paint: style.bad }
      : escapeText(withoutId(item)),
  ];
}

/** On a screen with fewer columns the table has no room for what an item is. */
const NARROW = 60;

function kindText({ kind }: InboxItem): string {
  return kind === 'in_doubt' ? 'in doubt' : kind;
}

/** The time that an item has waited. */
export function waits({ since }: InboxItem, now: number): string {
  return relative(since, now).replace(/ ago$/, '');
}

/** One change of the inbox as a line. */
export function changeLine(
  { change, item }: InboxChange,
  at: string,
  { style }: Pick<Screen, 'style'>,
): string {
  const text = `${escapeText(`${item.turn}/${item.callId}`)}  ${kindText(item)}  ${escapeText(withoutId(item))}`;
  return `${style.quiet(clock(at))}  ${change === 'new' ? style.warn('new ') : style.quiet('gone')}  ${text}`;
}

/** What an item asks for, in a few words. */
export function withoutId({ summary, callId, tool, by }: InboxItem): string {
  const what = summary.startsWith(`${callId} `) ? summary.slice(callId.length + 1) : `${tool} ${summary}`;
  return by ? `${what} [by ${describeModel(by)}]` : what;
}
