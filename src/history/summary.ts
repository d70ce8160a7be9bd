import type { JsonObject } from '../contract/json';

const CHARS = 80;

/** One line for a person: `1.2 write_file path=README.md`. */
export function summaryOf(call: { callId: string; tool: string; arguments: JsonObject }): string {
  const args = Object.entries(call.arguments).map(([name, value]) => `${name}=${oneLine(value)}`);
  const line = `${call.callId} ${call.tool} ${args.join(' ')}`.trim();
  return line.length <= CHARS ? line : `${line.slice(0, CHARS - 1)}…`;
}

function oneLine(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, CHARS).replace(/\s+/g, ' ');
}
