import type { JsonObject } from '../../contract/json';
import { isObject } from '../../contract/json';
import { setArgument } from '../set-argument';
import { changesBetween, type Snapshot } from './workspace';

/** What happens in the demo. */
export const SCENE = {
  agent: 'clerk',
  file: 'README.md',
  from: 'Acme Ltd',
  to: 'Northwind GmbH',
  /** What `--answer edit` makes of it. */
  edited: 'Northwind GmbH & Co. KG',
  prompt: `search for "Acme Ltd", then replace "Acme Ltd" with "Northwind GmbH" in README.md`,
} as const;

/** Where the new text stands in the arguments of the agent's call. */
const NEW_TEXT = ['edits', '0', 'new_text'];

/** The new text that a call proposes. */
export function newTextOf(args: JsonObject): string {
  const edits = args['edits'];
  const first = Array.isArray(edits) ? edits[0] : undefined;
  const text = isObject(first) ? first['new_text'] : undefined;
  return typeof text === 'string' ? text : SCENE.to;
}

/** The same arguments with another new text. */
export function withNewText(args: JsonObject, text: string): JsonObject {
  return setArgument(args, { path: NEW_TEXT, value: text });
}

/** What the files have to be. `text`: what stands in place of the old name; undefined where nothing may change. */
export function expected(before: Snapshot, text: string | undefined): Snapshot {
  if (text === undefined) return before;
  const readme = (before.get(SCENE.file) ?? '').split(SCENE.from).join(text);
  return new Map([...before, [SCENE.file, readme]]);
}

/** How the files differ from what they have to be; empty where they do not. */
export function mismatch(wanted: Snapshot, found: Snapshot): string {
  return changesBetween(wanted, found);
}
