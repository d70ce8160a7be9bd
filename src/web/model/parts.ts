import { isObject, type Json, type JsonObject } from '../../contract/json';
import { type Leaf, leavesOf } from '../../contract/text/json-diff';

/** Some rows of a list of like objects, with a column for each leaf. A cell is undefined if its object lacks it. */
export interface Rows {
  name: string;
  columns: readonly string[];
  rows: readonly (readonly (Json | undefined)[])[];
  /** The number of the first row, from 1. */
  from: number;
}

/** A part of arguments that fits one screen, also on a phone, and has to be seen together. */
export type ArgumentsPart = { leaves: readonly Leaf[] } | Rows;

/** The least rows and the most columns of a table. */
const LEAST_ROWS = 3;
const MOST_COLUMNS = 12;

const MOST = { leaves: 8, rows: 16, characters: 1_200 };

/** The values in parts. */
export function leafParts(leaves: readonly Leaf[]): ArgumentsPart[] {
  return cut(leaves, MOST.leaves).map((some) => ({ leaves: some }));
}

/** All arguments in parts. */
export function argumentParts(args: JsonObject): ArgumentsPart[] {
  const parts: ArgumentsPart[] = [];
  let beside: Leaf[] = [];
  for (const leaf of leavesOf(args, (value) => tableOf(value) !== undefined)) {
    const table = tableOf(leaf.value);
    if (table === undefined) {
      beside.push(leaf);
      continue;
    }
    parts.push(...leafParts(beside), ...rowParts(leaf.name, table));
    beside = [];
  }
  return [...parts, ...leafParts(beside)];
}

function rowParts(name: string, { columns, rows }: Pick<Rows, 'columns' | 'rows'>): Rows[] {
  let from = 1;
  return cut(rows, MOST.rows).map((some) => {
    const part = { name, columns, rows: some, from };
    from += some.length;
    return part;
  });
}

/** Divides a list so that no part has too many items or characters. A longer item is alone. */
function cut<T>(items: readonly T[], most: number): T[][] {
  const parts: T[][] = [];
  let room = { items: 0, characters: 0 };
  for (const item of items) {
    const size = JSON.stringify(item).length;
    if (room.items === 0 || room.characters < size) {
      parts.push([]);
      room = { items: most, characters: MOST.characters };
    }
    parts.at(-1)?.push(item);
    room = { items: room.items - 1, characters: room.characters - size };
  }
  return parts;
}

/** A list of objects as a table. Undefined if the objects have little in common. */
function tableOf(value: Json): Pick<Rows, 'columns' | 'rows'> | undefined {
  if (!Array.isArray(value) || value.length < LEAST_ROWS) return undefined;
  const objects = value.flatMap((item) =>
    isObject(item) ? [new Map(leavesOf(item).map((leaf) => [leaf.name, leaf.value]))] : [],
  );
  if (objects.length < value.length) return undefined;
  const columns = [...new Set(objects.flatMap((object) => [...object.keys()]))];
  const filled = objects.reduce((sum, { size }) => sum + size, 0);
  if (columns.length > MOST_COLUMNS || 2 * filled < columns.length * objects.length) return undefined;
  return { columns, rows: objects.map((object) => columns.map((name) => object.get(name))) };
}
