import type { JsonObject } from '../../contract/json';
import type { Said, TurnEvent } from '../../history/events';
import { visible } from './visible';

/** The event of one type. */
export type Of<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>;

/** Label, text that is safe to print, and how to colour it; undefined where there is nothing new to tell. */
export type Told = [label: string, text: string, paint?: (text: string) => string] | undefined;

/** Of a result; the whole of it is shown by `show <turn>/<call>`. */
const HEAD_CHARS = 160;

/** A name as claimed. */
export function who(approver: string | undefined): string {
  return visible(approver ?? 'somebody');
}

/** Who said something, and how that is known: anybody can claim a name, only the desk has people sign in. */
export function speaker({ approver, authenticated }: Pick<Said, 'approver' | 'authenticated'>): string {
  return `${who(approver)} (${authenticated === true ? 'signed in' : 'as claimed'})`;
}

/** A reason in brackets, where there is one. */
export function because(reason: string | undefined): string {
  return reason === undefined || reason === '' ? '' : ` (${visible(head(reason))})`;
}

/** A call in one line: its tool and its arguments. */
export function callText(tool: string, args: JsonObject): string {
  const told = Object.entries(args).map(([name, value]) => `${name}=${oneLine(value)}`);
  return visible(head(`${tool} ${told.join(' ')}`.trim()));
}

function oneLine(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The beginning of a text, cut between characters. */
export function head(text: string): string {
  const chars = [...text.slice(0, HEAD_CHARS * 2)];
  return chars.length <= HEAD_CHARS ? text : `${chars.slice(0, HEAD_CHARS).join('')}…`;
}
