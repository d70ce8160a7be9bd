import type { JsonObject } from '../../contract/json';
import type { CallView } from '../../history/view';
import { argumentLines } from './arguments';
import type { Screen } from './screen';

/**
 * The three records of a call's arguments: what the model proposed, what a person approved, what ran.
 * Those that say the same are told once, under all their names.
 */
export function recordLines(call: CallView, screen: Pick<Screen, 'width' | 'style'>): string[] {
  return recordsOf(call).flatMap(({ names, value }) => [
    screen.style.quiet(`${names.join(', ')}:`),
    ...argumentLines(value, { ...screen, width: screen.width - 2 }).map((line) => `  ${line}`),
  ]);
}

interface ArgumentRecord {
  names: string[];
  value: JsonObject;
}

function recordsOf({
  proposed,
  arguments: args,
  approved,
  effective,
  startedAt,
}: CallView): ArgumentRecord[] {
  const records: ArgumentRecord[] = [{ names: ['proposed'], value: proposed ?? args }];
  if (approved !== undefined) add(records, 'approved', approved);
  if (startedAt !== undefined) add(records, 'effective', effective);
  return records;
}

function add(records: ArgumentRecord[], name: string, value: JsonObject): void {
  const last = records.at(-1);
  if (last !== undefined && sameJson(last.value, value)) last.names.push(name);
  else records.push({ names: [name], value });
}

function sameJson(a: JsonObject, b: JsonObject): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
