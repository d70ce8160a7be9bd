import type { Json } from '../../contract/json';
import { leavesOf } from '../../contract/text/json-diff';
import type { RequestOpened } from '../../history/events';
import type { InboxItem } from '../../server/api';
import { keyOf } from './inbox';
import { LIMITS } from '../../contract/limits';

/** The outcome for one call that was decided with others. */
export interface Reported {
  turn: string;
  callId: string;
  /** The call in one line. */
  summary: string;
  state: 'waits' | 'taken' | 'refused' | 'not sent';
  /** Why the decision was not taken, or what happens next. */
  text: string;
}

/** The requests that a person selected to decide together, and the outcomes of the requests that were decided last. */
export interface Selection {
  items: readonly InboxItem[];
  report?: readonly Reported[];
}

/** The key under which a decision on several requests is held. */
export const BULK = 'bulk';

/**
 * Whether an item may be selected together with the selected items. Only requests of one tool and one agent are similar
 * enough.
 */
export function mayJoin([first]: readonly InboxItem[], item: InboxItem): boolean {
  if (item.kind !== 'request') return false;
  return first === undefined || (first.tool === item.tool && first.agent === item.agent);
}

export function isSelected(items: readonly InboxItem[], item: InboxItem): boolean {
  return items.some((one) => keyOf(one) === keyOf(item));
}

/**
 * The selection after a click on an item, which selects or deselects it. An item that may not join the others changes
 * nothing.
 */
export function toggled(items: readonly InboxItem[], item: InboxItem): readonly InboxItem[] {
  if (isSelected(items, item)) return items.filter((one) => keyOf(one) !== keyOf(item));
  return mayJoin(items, item) && items.length < MOST_ROWS ? [...items, item] : items;
}

/** The selection with every row that may join it, up to the size of a page of the inbox. */
export function withAllAlike(items: readonly InboxItem[], rows: readonly InboxItem[]): InboxItem[] {
  const joining = rows.filter((row) => mayJoin(items, row) && !isSelected(items, row));
  return [...items, ...joining].slice(0, MOST_ROWS);
}

/** One field that requests show: an argument by its name for people, or a field that is not an argument. */
export interface AlikeField {
  name: string;
  isArgument: boolean;
  /** The value of each request, in order. Undefined if a request does not have the field. */
  values: (Json | undefined)[];
}

/**
 * The fields that are the same in all requests, and the fields that differ. Together they are everything that the
 * requests show.
 */
export function compareRequests(requests: readonly RequestOpened[]): {
  same: AlikeField[];
  differing: AlikeField[];
} {
  const shown = requests.map(fieldsOf);
  const names = [...new Set(shown.flatMap((fields) => [...fields.keys()]))];
  const fields = names.map((key) => ({
    name: key.slice(ARGUMENT.length),
    isArgument: key.startsWith(ARGUMENT),
    values: shown.map((one) => one.get(key)),
  }));
  const isSame = ({ values: [first, ...others] }: AlikeField) =>
    others.every((value) => JSON.stringify(value) === JSON.stringify(first));
  return { same: fields.filter(isSame), differing: fields.filter((field) => !isSame(field)) };
}

/** Names of numbers that count nothing: `orderId`, `zip_code`. */
const NAMES_ONLY = /(^|[^a-z])(id|code|no|number|year)s?$|(Id|Code|No|Number|Year)s?$/;

/** The sums of the arguments that are numbers in all of several requests. */
export function sumsOfCalls(fields: readonly AlikeField[]): { name: string; sum: number }[] {
  return fields.flatMap(({ name, isArgument, values }) => {
    const numbers = values.filter((value) => typeof value === 'number');
    if (!isArgument || numbers.length < Math.max(2, values.length) || NAMES_ONLY.test(name)) return [];
    // Sums of decimals get digits that no part has.
    return { name, sum: Number(numbers.reduce((sum, one) => sum + one, 0).toPrecision(15)) };
  });
}

/**
 * Prefixes of the keys. They keep an argument called "Policy" apart from the field "Policy" that is not an argument.
 */
const BESIDE = 'b:';
const ARGUMENT = 'a:';

function fieldsOf(request: RequestOpened): Map<string, Json> {
  const { arguments: args, preview, note, notes, policyReason, edit, effect } = request;
  const beside: [string, string | undefined][] = [
    ['What it does', preview && previewText(preview)],
    ['Asked again', note],
    ['Policy', policyReason],
    ['Notes', notes?.join('; ')],
    ['Changed by', edit?.approver],
    ['Effect', effect],
  ];
  return new Map<string, Json>([
    ...beside.flatMap(([name, text]): [string, Json][] =>
      text === undefined ? [] : [[`${BESIDE}${name}`, text]],
    ),
    ...leavesOf(args).map(({ name, value }): [string, Json] => [`${ARGUMENT}${name}`, value]),
  ]);
}

/** The preview as text. The change of a file is shown as its hunks, as for a single request. */
function previewText({ text, plan }: NonNullable<RequestOpened['preview']>) {
  if (plan === undefined || plan.targetHash === '') return text;
  const path = plan.baseHash === null ? `${plan.path} (new file)` : plan.path;
  return [path, ...plan.hunks.flatMap(({ lines }) => lines)].join('\n');
}

/** The most rows that the server sends at once. */
const MOST_ROWS: number = LIMITS.inboxRows;
