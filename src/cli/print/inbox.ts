import type { InboxItem } from '../../client';
import type { Context } from '../context';
import type { InboxChange } from '../live/watch-inbox';
import type { Screen } from './screen';
import { tableLines, type Cell } from './table';
import { clock, expiry, relative } from '../../contract/times';
import { visible } from './visible';

/** The inbox as a table, and what to type next. */
export function inboxLines(
  items: readonly InboxItem[],
  context: Pick<Context, 'screen' | 'command'>,
  now: number,
): string[] {
  const { screen } = context;
  const [first] = items;
  if (first === undefined) return ['Nothing waits for a person.'];
  const table = {
    head: ['CALL', 'WHAT', 'AGENT', 'WAITS', 'EXPIRES', 'CALLS FOR'],
    rows: items.map((item) => row(item, screen, now)),
    flex: 5,
  };
  return [
    ...tableLines(table, { width: screen.width, quiet: screen.style.quiet }),
    ...(screen.isTerminal
      ? ['', `Look at one: ${context.command(`show ${first.turn}/${first.callId}`)}`]
      : []),
  ];
}

function row(item: InboxItem, { style }: Screen, now: number): Cell[] {
  const doubt = item.kind === 'in_doubt';
  return [
    { text: visible(`${item.turn}/${item.callId}`) },
    { text: doubt ? 'in doubt' : 'request', paint: doubt ? style.bad : style.warn },
    { text: visible(item.agent) },
    { text: relative(item.since, now).replace(/ ago$/, '') },
    { text: expiry(item.deadline, now) },
    { text: visible(withoutId(item)) },
  ];
}

/** One change of the inbox as a line. */
export function changeLine(
  { change, item }: InboxChange,
  at: string,
  { style }: Pick<Screen, 'style'>,
): string {
  const what = item.kind === 'in_doubt' ? 'in doubt' : 'request';
  const text = `${visible(`${item.turn}/${item.callId}`)}  ${what}  ${visible(withoutId(item))}`;
  return `${style.quiet(clock(at))}  ${change === 'new' ? style.warn('new ') : style.quiet('gone')}  ${text}`;
}

/** What an item calls for, in a few words. */
export function withoutId({ summary, callId, tool }: InboxItem): string {
  return summary.startsWith(`${callId} `) ? summary.slice(callId.length + 1) : `${tool} ${summary}`;
}
