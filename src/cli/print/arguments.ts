import { structuredPatch } from 'diff';
import type { Json, JsonObject } from '../../contract/json';
import { changedLeaves, leavesOf } from '../../contract/text/json-diff';
import type { Style, ScreenFormat } from './screen';
import { escapeText, escapeLines } from '../../contract/text/escape';
import { widthOf, wrap } from '../../contract/text/columns';
import type { CallView } from '../../history/view';
import type { FilePlan } from '../../contract/plan';
import { leavesBeside } from '../../contract/text/plan-leaves';
import { counted } from '../../history/labels';
import { diffLines } from '../../history/preview-lines';
import { inner, section } from './table';

/** The most columns for the name of an argument. A longer name gets its own line, so that the values stay aligned. */
const NAME_MOST = 24;

/**
 * Arguments as `path  value` lines; text of several lines becomes a block with a bar before each line. Text that the
 * diff of `plan` shows is not printed again.
 */
export function argumentLines(args: JsonObject, screen: ScreenFormat, plan?: FilePlan): string[] {
  const { own, shown } = leavesBeside(plan, leavesOf(args));
  const more =
    shown.length === 0
      ? []
      : [screen.style.quiet(`${counted(shown.length, 'more value')} that the diff shows`)];
  const leaves = own.map(({ path, value }) => ({ name: escapeText(path), value }));
  if (leaves.length === 0) return more.length === 0 ? [screen.style.quiet('(none)')] : more;
  const most = Math.min(NAME_MOST, Math.floor(screen.width / 2));
  const short = leaves.map(({ name }) => widthOf(name)).filter((width) => width <= most);
  const named = Math.max(0, ...short) + 2;
  return [...leaves.flatMap(({ name, value }) => leafLines(name, value, named, screen)), ...more];
}

function leafLines(name: string, value: Json, named: number, { width, style }: ScreenFormat): string[] {
  const { quiet, mark } = style;
  if (isLines(value))
    return [quiet(name), ...escapeLines(value, mark).map((line) => `${quiet('│')} ${line}`)];
  const text = escapeText(typeof value === 'string' && value !== '' ? value : JSON.stringify(value));
  const [first = '', ...rest] = wrap(text, width - named);
  const pad = ' '.repeat(named);
  const more = rest.map((line) => pad + line);
  if (widthOf(name) + 2 > named) return [quiet(name), pad + first, ...more];
  return [quiet(name) + ' '.repeat(named - widthOf(name)) + first, ...more];
}

/**
 * The three records of a call's arguments: what the model proposed, what a person approved, what ran. Equal records are
 * printed once, under all their names.
 */
export function recordLines(call: CallView, screen: ScreenFormat): string[] {
  const { proposed = call.arguments, approved, effective, startedAt } = call;
  const ran = startedAt === undefined ? undefined : effective;
  const byValue = new Map<string, { names: string[]; value: JsonObject }>();
  for (const [name, value] of Object.entries({ proposed, approved, effective: ran })) {
    if (value === undefined) continue;
    const key = JSON.stringify(value);
    const same = byValue.get(key) ?? { names: [], value };
    same.names.push(name);
    byValue.set(key, same);
  }
  return [...byValue.values()].flatMap(({ names, value }) =>
    section(names.join(', '), argumentLines(value, inner(screen), call.request?.preview?.plan), screen),
  );
}

/**
 * The differences between two sets of arguments: each leaf as `path: before → after`, text of several lines as a diff.
 */
export function changeLines(before: JsonObject, after: JsonObject, style: Style): string[] {
  return changedLeaves(before, after).flatMap((leaf) => leafChange(leaf, style));
}

function leafChange({ path, old, now }: ReturnType<typeof changedLeaves>[number], style: Style): string[] {
  const name = escapeText(path);
  if (isLines(old) || isLines(now)) return [`${name}:`, ...textChange(textOf(old), textOf(now), style)];
  const show = (value: Json | undefined) =>
    value === undefined ? '(absent)' : escapeText(JSON.stringify(value));
  return [`${name}: ${style.bad(show(old))} → ${style.good(show(now))}`];
}

function textChange(old: string, now: string, style: Style): string[] {
  const { hunks } = structuredPatch('', '', old, now, '', '', { context: 3 });
  return hunks.flatMap(({ lines }) => diffLines(lines.join('\n'), style)).map((line) => `  ${line}`);
}

function isLines(value: Json | undefined): value is string {
  return typeof value === 'string' && value.includes('\n');
}

function textOf(value: Json | undefined) {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
