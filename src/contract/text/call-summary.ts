import type { JsonObject } from '../json';
import type { Preview } from '../plan';

const CHARS = 80;

/** The part of a call that its one-line summary shows. */
export interface SummarizedCall {
  callId: string;
  tool: string;
  arguments: JsonObject;
  /** Why a person is asked about the call once more. */
  note?: string;
  /** The preview that a person sees. */
  preview?: Preview;
}

/**
 * One line for a person, on our screens and in Temporal's own: `1.2 write_file README.md, 2 hunks`, or
 * `1.2 refund 15.00 EUR` from its preview, or `1.2 refund cents=1500` without one.
 */
export function callSummary({ callId, tool, arguments: args, note, preview }: SummarizedCall): string {
  const noted = note === undefined ? [] : [`(${oneLine(note)})`];
  const shown = previewSummary(preview);
  return cutLine(
    [callId, tool, ...noted, shown === '' ? argumentsLine(args) : shown].filter(Boolean).join(' '),
  );
}

/** Only the arguments, as one line: `cents=1500`. */
export function argumentsSummary(args: JsonObject): string {
  return cutLine(argumentsLine(args));
}

export function argumentsLine(args: JsonObject): string {
  return Object.entries(args)
    .map(([name, value]) => `${oneLine(name)}=${oneLine(value)}`)
    .join(' ');
}

export function cutLine(line: string): string {
  return line.length <= CHARS ? line : `${line.slice(0, CHARS - 1)}…`;
}

function oneLine(value: unknown) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, CHARS).replace(/\s+/g, ' ');
}

/** The file and the number of its hunks, or the first line of the text. Empty for a diff without a plan. */
export function previewSummary({ text, plan }: Preview = { text: '' }): string {
  const count = plan?.hunks.length ?? 0;
  if (plan !== undefined && count > 0)
    return `${oneLine(plan.path)}, ${count} ${count === 1 ? 'hunk' : 'hunks'}`;
  const [first = ''] = text.trim().split('\n');
  return plan !== undefined || /^(---|@@)/.test(first) ? '' : oneLine(first);
}
