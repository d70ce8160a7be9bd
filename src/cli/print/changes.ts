import { structuredPatch } from 'diff';
import type { Json, JsonObject } from '../../contract/json';
import { changedLeaves, type ChangedLeaf } from '../../contract/leaves';
import { diffLines } from './diff';
import type { Style } from './style';
import { visible } from './visible';

/** What differs between two sets of arguments: each leaf as `path: before → after`, text of several lines as a diff. */
export function changeLines(before: JsonObject, after: JsonObject, style: Style): string[] {
  return changedLeaves(before, after).flatMap((leaf) => leafChange(leaf, style));
}

function leafChange({ path, old, now }: ChangedLeaf, style: Style): string[] {
  const name = visible(path);
  if (isLines(old) || isLines(now)) return [`${name}:`, ...textChange(textOf(old), textOf(now), style)];
  const show = (value: Json | undefined): string =>
    value === undefined ? '(absent)' : visible(JSON.stringify(value));
  return [`${name}: ${style.bad(show(old))} → ${style.good(show(now))}`];
}

function textChange(old: string, now: string, style: Style): string[] {
  const { hunks } = structuredPatch('', '', old, now, '', '', { context: 3 });
  return hunks.flatMap(({ lines }) => diffLines(lines.join('\n'), style)).map((line) => `  ${line}`);
}

function isLines(value: Json | undefined): value is string {
  return typeof value === 'string' && value.includes('\n');
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
