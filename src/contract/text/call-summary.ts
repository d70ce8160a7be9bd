import type { JsonObject } from '../json';

const CHARS = 80;

/** A call as far as one line shows it. */
export interface SummarizedCall {
  callId: string;
  tool: string;
  arguments: JsonObject;
  /** Why it is asked about once more. */
  note?: string;
}

/** One line for a person, on our screens and in Temporal's own: `1.2 write_file path=README.md`. */
export function callSummary({ callId, tool, arguments: args, note }: SummarizedCall): string {
  const noted = note === undefined ? [] : [`(${oneLine(note)})`];
  const values = Object.entries(args).map(([name, value]) => `${name}=${oneLine(value)}`);
  const line = [callId, tool, ...noted, ...values].join(' ');
  return line.length <= CHARS ? line : `${line.slice(0, CHARS - 1)}…`;
}

function oneLine(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, CHARS).replace(/\s+/g, ' ');
}
