import { isJsonObject, isObject, type Json, type JsonObject } from '../../contract/json';

/** A scalar as a text. Undefined for anything else. */
export function asWord(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** The text in a value: a scalar, an object with its text under one of the usual names, or a list of these. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (!isObject(value)) return asWord(value) ?? '';
  return textOf(value['text'] ?? value['value'] ?? value['content'] ?? '');
}

/** Texts that a stream sends in pieces. Other texts, such as signatures and ids, come whole. */
const IN_PIECES = /^(?:text|summary|thinking|content|reasoning\w*|thought)$/;

/** Adds what a later piece of a stream has to what earlier pieces had. */
export function mergeExtra(known: JsonObject, more: JsonObject): JsonObject {
  const merged = { ...known };
  for (const [name, value] of Object.entries(more))
    if (value !== null && value !== '') merged[name] = mergedField(name, merged[name], value);
  return merged;
}

function mergedField(name: string, known: Json | undefined, more: Json): Json {
  if (known === undefined) return more;
  if (Array.isArray(known) && Array.isArray(more)) return more.reduce(withItem, known);
  if (isJsonObject(known) && isJsonObject(more)) return mergeExtra(known, more);
  return typeof known === 'string' && typeof more === 'string' && IN_PIECES.test(name) ? known + more : more;
}

/** A list with one more item, which may be the next piece of the last one. */
function withItem(list: Json, item: Json): Json[] {
  const items = Array.isArray(list) ? list : [];
  const last = items.at(-1);
  if (!isJsonObject(last) || !isJsonObject(item) || !isNext(last, item)) return [...items, item];
  return [...items.slice(0, -1), mergeExtra(last, item)];
}

/** Whether an item goes on where the last one ended: of the same kind and place, and the last one is not signed yet. */
function isNext(last: JsonObject, item: JsonObject): boolean {
  const isSame = ['type', 'index'].every((name) => last[name] === item[name]);
  const isOther =
    typeof last['id'] === 'string' && typeof item['id'] === 'string' && last['id'] !== item['id'];
  const isSigned = typeof last['signature'] === 'string' && last['signature'] !== '';
  return isSame && !isOther && (!isSigned || item['index'] !== undefined);
}
